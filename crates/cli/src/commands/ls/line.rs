//! Lines of a listing, in the form of `ls -l`.

use super::{Details, Row};
use crate::output;
use bytesize::ByteSize;
use futago_base::Kind;
use jiff::{SignedDuration, Timestamp, fmt::strtime, tz::TimeZone};
use uzers::{Groups, Users, UsersCache};

/// Half a year: an older or future time is shown with its year, as POSIX specifies for `ls`.
const RECENT: SignedDuration = SignedDuration::from_hours(24 * 182);

/// How details are shown.
#[derive(Clone, Copy)]
pub struct Form {
    /// Sizes with units.
    pub human_readable: bool,
    /// Owners by number.
    pub numeric: bool,
}

/// The columns of numbers and dates.
const RIGHT: [usize; 3] = [1, 4, 5];
/// The columns before a name.
const COLUMNS: usize = 6;

/// Lines with a name each.
pub fn short(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}\n", row.name)).collect()
}

/// Lines with all that is known, in columns.
pub fn long(rows: &[Row], form: Form) -> String {
    let names = UsersCache::new();
    let now = Timestamp::now();
    let cells = rows.iter().map(|row| {
        let known = row
            .details
            .as_ref()
            .map(|of| cells(row, of, form, &names, now));
        let mut cells = known.unwrap_or_else(|| vec!["?".to_owned(); COLUMNS]);
        let target = row.target.iter().map(|target| format!(" -> {target}"));
        cells.push(target.fold(row.name.clone(), |name, target| name + &target));
        cells
    });
    output::table(&[], &RIGHT, cells.collect())
}

fn cells(row: &Row, of: &Details, form: Form, names: &UsersCache, now: Timestamp) -> Vec<String> {
    let user = names.get_user_by_uid(of.uid).filter(|_| !form.numeric);
    let group = names.get_group_by_gid(of.gid).filter(|_| !form.numeric);
    let user = user.map(|user| user.name().display().to_string());
    let group = group.map(|group| group.name().display().to_string());
    vec![
        permissions(row.kind, of.mode),
        of.links.to_string(),
        user.unwrap_or_else(|| of.uid.to_string()),
        group.unwrap_or_else(|| of.gid.to_string()),
        match form.human_readable {
            true => ByteSize::b(of.size).display().iec_short().to_string(),
            false => of.size.to_string(),
        },
        date(of.modified_seconds, now),
    ]
}

/// The first column of `ls -l`.
fn permissions(kind: Kind, mode: u16) -> String {
    let mut text = String::from(match kind {
        Kind::File => '-',
        Kind::Directory => 'd',
        Kind::Symlink => 'l',
        Kind::Fifo => 'p',
        Kind::Socket => 's',
        Kind::CharacterDevice => 'c',
        Kind::BlockDevice => 'b',
    });
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 == 0 { '-' } else { 'r' });
        text.push(if bits & 2 == 0 { '-' } else { 'w' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (false, false) => '-',
            (true, false) => 'x',
            (true, true) => letter,
            (false, true) => letter.to_ascii_uppercase(),
        });
    }
    text
}

/// The local time, in the form that `ls` has for it.
fn date(seconds: i64, now: Timestamp) -> String {
    let Ok(time) = Timestamp::from_second(seconds) else {
        return seconds.to_string();
    };
    let age = now.duration_since(time);
    let is_recent = age >= SignedDuration::ZERO && age < RECENT;
    let form = if is_recent {
        "%b %e %H:%M"
    } else {
        "%b %e  %Y"
    };
    let time = time.to_zoned(TimeZone::system());
    strtime::format(form, &time).unwrap_or_else(|_| seconds.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_written_as_ls_does() {
        for (kind, mode, text) in [
            (Kind::Directory, 0o1777, "drwxrwxrwt"),
            (Kind::File, 0o4755, "-rwsr-xr-x"),
            (Kind::File, 0o6640, "-rwSr-S---"),
            (Kind::Symlink, 0o777, "lrwxrwxrwx"),
            (Kind::Fifo, 0o1700, "prwx-----T"),
        ] {
            assert_eq!(permissions(kind, mode), text);
        }
    }

    #[test]
    fn old_and_future_dates_have_their_year() {
        let now = Timestamp::from_second(1_000_000_000).unwrap();
        let year = |seconds: i64| date(seconds, now).ends_with(" 2001");
        assert!(year(1_000_000_000 - 200 * 86_400) && year(1_000_000_000 + 3600));
        assert!(date(1_000_000_000 - 3600, now).contains(':'));
        assert_eq!(date(i64::MAX, now), i64::MAX.to_string());
    }
}
