//! Draws rates on a terminal, once an interval.

use super::rates::{Rates, Sample, Table};
use crate::{connection::Connection, exit::Exit};
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyCode, KeyModifiers},
    layout::{Alignment, Constraint, Layout},
    style::Stylize,
    text::Text,
    widgets::{self, Cell, Row},
};
use std::time::{Duration, Instant};

/// Shows rates until the user presses `q`, Escape or Ctrl-C.
///
/// # Errors
/// If there is no terminal.
pub fn show(cluster: &str, connection: &Connection, interval: Duration) -> anyhow::Result<Exit> {
    let mut terminal = ratatui::try_init()?;
    let shown = draw_until_left(&mut terminal, cluster, connection, interval);
    ratatui::try_restore()?;
    shown.map(|()| Exit::Success)
}

fn draw_until_left(
    terminal: &mut DefaultTerminal,
    cluster: &str,
    connection: &Connection,
    interval: Duration,
) -> anyhow::Result<()> {
    let mut before = Sample::take(connection);
    let mut rates = Rates::between(&before, &before);
    loop {
        terminal.draw(|frame| draw(frame, cluster, &rates))?;
        if is_left_within(interval)? {
            return Ok(());
        }
        let after = Sample::take(connection);
        rates = Rates::between(&before, &after);
        before = after;
    }
}

/// Waits for an interval. Returns whether the user pressed a key that ends the display.
fn is_left_within(interval: Duration) -> anyhow::Result<bool> {
    let until = Instant::now() + interval;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !event::poll(left)? {
            return Ok(false);
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let leaves = match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => is_control,
            _ => false,
        };
        if leaves {
            return Ok(true);
        }
    }
}

fn draw(frame: &mut Frame<'_>, cluster: &str, rates: &Rates) {
    let [servers, operations, waiting] = rates.tables();
    let rows = |table: &Table| table.rows.len() as u16 + 2;
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows(&servers)),
        Constraint::Length(rows(&operations)),
        Constraint::Min(0),
    ])
    .split(frame.area());
    let title = format!("futago top: {cluster} (q ends it)");
    frame.render_widget(Text::from(title).bold(), areas[0]);
    for (table, area) in [servers, operations, waiting].into_iter().zip(&areas[1..]) {
        frame.render_widget(widget(table), *area);
    }
}

fn widget(table: Table) -> widgets::Table<'static> {
    let aligned = |(column, text): (usize, String)| {
        let alignment = match table.is_right(column) {
            true => Alignment::Right,
            false => Alignment::Left,
        };
        Cell::from(Text::from(text).alignment(alignment))
    };
    let row = |cells: Vec<String>| Row::new(cells.into_iter().enumerate().map(aligned));
    let widths = (0..table.titles.len()).map(|column| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let longest = cells.map(String::len).max().unwrap_or(0);
        Constraint::Length(longest.max(table.titles[column].len()) as u16)
    });
    let titles = table.titles.iter().map(|&title| title.to_owned()).collect();
    widgets::Table::new(table.rows.iter().cloned().map(row), widths)
        .header(row(titles).bold())
        .column_spacing(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::top::rates::tests::rates;
    use ratatui::{Terminal, backend::TestBackend};

    #[test]
    fn all_tables_fit_on_a_screen() {
        let mut terminal = Terminal::new(TestBackend::new(120, 20)).expect("a terminal");
        terminal
            .draw(|frame| draw(frame, "name", &rates()))
            .expect("drawn");
        let screen = terminal.backend().to_string();
        for shown in [
            "futago top: name",
            "requests/s",
            "500.0 KiB",
            "no answer",
            "write",
            "of session",
        ] {
            assert!(screen.contains(shown), "{shown} in {screen}");
        }
    }
}
