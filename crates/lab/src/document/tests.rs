use super::*;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct House {
    rooms: Vec<Room>,
    #[serde(default)]
    heating: Heating,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Room {
    #[serde(deserialize_with = "bounds::count")]
    windows: u32,
    #[serde(default, deserialize_with = "bounds::some_positive")]
    width_m: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Heating {
    #[default]
    None,
    Stove {
        logs: u8,
    },
    PowerW(u32),
}

const HOUSE: &str =
    "heating = \"none\"\n\n[[rooms]]\nwindows = 2\n\n[[rooms]]\nwindows = 3\nwidth_m = 4\n";

fn house(text: &str) -> Result<House, String> {
    let node = Node::parse("house.toml", text).map_err(|p| p.to_string())?;
    node.read().map_err(|p| p.to_string())
}

fn with_option(option: &str) -> Result<House, String> {
    let mut node = Node::parse("house.toml", HOUSE).map_err(|p| p.to_string())?;
    let (key, value) = Node::parse_option(option).map_err(|p| p.to_string())?;
    node.set(&key, value).map_err(|p| p.to_string())?;
    node.read().map_err(|p| p.to_string())
}

#[test]
fn a_document_becomes_a_value() {
    let room = |windows, width_m| Room { windows, width_m };
    let expected = House {
        rooms: vec![room(2, None), room(3, Some(4.0))],
        heating: Heating::None,
    };
    assert_eq!(house(HOUSE), Ok(expected));
}

#[test]
fn options_change_single_values_and_may_be_words() {
    let heating = |option| with_option(option).map(|house| house.heating);
    assert_eq!(heating("heating=none"), Ok(Heating::None));
    assert_eq!(
        heating("heating={ stove = { logs = 3 } }"),
        Ok(Heating::Stove { logs: 3 })
    );
    let windows = |option| with_option(option).map(|house| house.rooms[1].windows);
    assert_eq!(windows("rooms.1.windows=7"), Ok(7));
    assert_eq!(windows("rooms[1].windows=8"), Ok(8));
}

#[test]
fn a_table_laid_over_another_replaces_what_it_names() {
    let mut below = Node::parse("a.toml", "a = { b = 1, c = 2 }\nd = 3").unwrap();
    below.merge(Node::parse("b.toml", "a.b = [4]\ne = 5").unwrap());
    let expected = serde_json::json!({"a": {"b": [4], "c": 2}, "d": 3, "e": 5});
    assert_eq!(below.to_json(), expected);
    assert_eq!(
        below.get("a.b").unwrap().origin.to_string(),
        "b.toml, line 1"
    );
    assert_eq!(below.get("d").unwrap().origin.to_string(), "a.toml, line 2");
}

#[test]
fn mistakes_are_reported_with_line_key_and_suggestion() {
    let errors = [
        house("[[rooms]]\nwindow = 2"),
        house("[[rooms]]\nwindows = 2\nwallpaper = 1"),
        house("[[rooms]]\n\nwindows = 0"),
        house("[[rooms]]\nwindows = \"two\""),
        house("[[rooms]]\nwidth_m = 2"),
        house("[[rooms]]\nwindows = 1\nwidth_m = 0"),
        house("heating = \"non\"\nrooms = []"),
        house("rooms = []\nheating = 3"),
        house("rooms = []\nheating = { stove = { logs = 300 } }"),
        house("rooms = []\nheating = { power_w = -1 }"),
        house("rooms = []\nheating = { power_w = 1, none = 1 }"),
        house("rooms = []\nrooms = []"),
        house("rooms = [\n"),
        house("rooms = []\nbuilt = 1999-12-31"),
        with_option("rooms.0.window=1"),
        with_option("rooms.5.windows=1"),
        with_option("rooms.0.windows.large=1"),
        with_option("rooms"),
    ];
    let text: Vec<String> = errors.map(|e| e.unwrap_err()).into();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn only_similar_words_are_suggested() {
    assert_eq!(
        nearest("bandwith", &["bandwidth", "latency"]),
        Some("bandwidth")
    );
    assert_eq!(nearest("colour", &["bandwidth", "latency"]), None);
}
