//! The arguments of tests, as GNU find reads them.

use futago_base::{
    Kind, Timestamp,
    search::{Comparison, Kinds, Test},
};
use std::str::FromStr;

/// `[+-]N`.
fn comparison(text: &str) -> Result<Comparison, String> {
    let (make, digits): (fn(u64) -> Comparison, &str) = match text.split_at_checked(1) {
        Some(("+", digits)) => (Comparison::More, digits),
        Some(("-", digits)) => (Comparison::Less, digits),
        _ => (Comparison::Equal, text),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number);
    let number = number.ok_or_else(|| format!("{text} is not a number with + or - before it"))?;
    Ok(make(number))
}

/// `[+-]N[cwbkMG]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    unit_bytes: u64,
    units: Comparison,
}

impl Size {
    pub const fn test(&self) -> Test {
        let Self { unit_bytes, units } = *self;
        Test::Size { unit_bytes, units }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const UNITS: [(char, u64); 6] = [
            ('c', 1),
            ('w', 2),
            ('b', 512),
            ('k', 1 << 10),
            ('M', 1 << 20),
            ('G', 1 << 30),
        ];
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
        let unit_bytes = unit.map_or(512, |(_, bytes)| *bytes);
        let number = unit.map_or(text, |(unit, _)| text.trim_end_matches(*unit));
        let is_one_unit = unit.is_none() || number.len() + 1 == text.len();
        let units = comparison(number).ok().filter(|_| is_one_unit);
        let units = units.ok_or_else(|| {
            format!("{text} is not a number with + or - before it and a unit of cwbkMG after it")
        })?;
        Ok(Self { unit_bytes, units })
    }
}

/// `[+-]N` days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days(Comparison);

impl Days {
    /// The tests of the last modification, at this time. GNU find takes a second more for less than
    /// N days.
    pub fn tests(&self, now: Timestamp) -> Vec<Test> {
        let days_ago = |days: u64| seconds_before(now, days.saturating_mul(86_400));
        match self.0 {
            Comparison::Less(days) => {
                let seconds = days.saturating_mul(86_400).saturating_add(1);
                vec![Test::ModifiedAfter(seconds_before(now, seconds))]
            }
            Comparison::More(days) => {
                vec![Test::ModifiedBefore(days_ago(days.saturating_add(1)))]
            }
            Comparison::Equal(days) => vec![
                Test::ModifiedAfter(days_ago(days.saturating_add(1))),
                Test::ModifiedBefore(next(days_ago(days))),
            ],
        }
    }
}

impl FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        comparison(text).map(Self)
    }
}

fn seconds_before(time: Timestamp, seconds: u64) -> Timestamp {
    Timestamp {
        seconds: time.seconds.saturating_sub_unsigned(seconds),
        ..time
    }
}

/// A nanosecond later.
const fn next(time: Timestamp) -> Timestamp {
    match time.nanos {
        999_999_999 => Timestamp {
            seconds: time.seconds.saturating_add(1),
            nanos: 0,
        },
        nanos => Timestamp {
            nanos: nanos + 1,
            ..time
        },
    }
}

/// Types, separated by commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(pub Kinds);

impl FromStr for Types {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = text.split(',').map(kind);
        let kinds = kinds.collect::<Option<Vec<Kind>>>();
        let kinds = kinds.ok_or_else(|| format!("{text} is none of f, d, l, p, s, c, b"))?;
        let all = kinds.into_iter().fold(Kinds::default(), Kinds::with);
        Ok(Self(all))
    }
}

fn kind(letter: &str) -> Option<Kind> {
    Some(match letter {
        "f" => Kind::File,
        "d" => Kind::Directory,
        "l" => Kind::Symlink,
        "p" => Kind::Fifo,
        "s" => Kind::Socket,
        "c" => Kind::CharacterDevice,
        "b" => Kind::BlockDevice,
        _ => return None,
    })
}

/// A user of this host by name, or any by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(pub u32);

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = uzers::get_user_by_name(text).map(|user| user.uid());
        let uid = known.or_else(|| text.parse().ok());
        let uid =
            uid.ok_or_else(|| format!("{text} is neither a user of this host nor a number"))?;
        Ok(Self(uid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let size = |text: &str| {
            text.parse::<Size>()
                .map(|size| (size.unit_bytes, size.units))
        };
        assert_eq!(size("1"), Ok((512, Comparison::Equal(1))));
        assert_eq!(size("+20k"), Ok((1024, Comparison::More(20))));
        assert_eq!(size("-3M"), Ok((1 << 20, Comparison::Less(3))));
        assert_eq!(size("0c"), Ok((1, Comparison::Equal(0))));
        for wrong in ["", "k", "+", "1kk", "1T", "++1", "1.5M", "-+1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    /// Which of the days a file matches that is so old.
    fn matched(age_s: i64, text: &str) -> bool {
        let now = Timestamp {
            seconds: 100 * 86_400,
            nanos: 5,
        };
        let modified = Timestamp {
            seconds: now.seconds - age_s,
            ..now
        };
        let days: Days = text.parse().unwrap();
        days.tests(now).iter().all(|test| match test {
            Test::ModifiedAfter(time) => modified > *time,
            Test::ModifiedBefore(time) => modified < *time,
            _ => false,
        })
    }

    #[test]
    fn parts_of_days_do_not_count() {
        let day = 86_400;
        assert!(matched(day - 2, "0") && matched(day - 2, "-1") && !matched(day - 2, "1"));
        assert!(matched(day, "1") && !matched(day, "0") && !matched(day, "+0"));
        assert!(matched(2 * day - 2, "1") && matched(2 * day - 2, "-2"));
        assert!(matched(2 * day + 2, "+1") && !matched(2 * day + 2, "1"));
        assert!(!matched(-5, "0") && matched(-5, "-1"), "of the future");
        assert!("1.5".parse::<Days>().is_err());
    }

    #[test]
    fn types_and_users_are_read() {
        let types: Types = "f,l".parse().unwrap();
        assert!(types.0.has(Kind::File) && types.0.has(Kind::Symlink));
        assert!(!types.0.has(Kind::Directory));
        assert!("x".parse::<Types>().is_err() && "f,".parse::<Types>().is_err());
        assert_eq!("root".parse(), Ok(User(0)));
        assert_eq!("4242".parse(), Ok(User(4242)));
        assert!("no such user".parse::<User>().is_err());
    }
}
