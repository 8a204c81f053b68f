use super::{Distribution, RandomStream};

/// A distribution given by measured values and their weights.
///
/// Walker's alias method, built as by Vose ("A linear algorithm for generating random numbers with
/// a given distribution", IEEE TSE 17(9), 1991). It needs two draws per sample, for any length of
/// the table.
#[derive(Clone, Debug)]
pub struct Empirical {
    cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
struct Cell {
    value: f64,
    alias: f64,
    keep: f64,
}

impl Empirical {
    /// From (value, weight) pairs. `None` if there is no pair, a weight is negative or not finite,
    /// or all are zero.
    pub fn new(weighted: &[(f64, f64)]) -> Option<Empirical> {
        let total: f64 = weighted.iter().map(|pair| pair.1).sum();
        let valid = weighted.iter().all(|pair| pair.1 >= 0.0);
        if !valid || !total.is_finite() || total <= 0.0 {
            return None;
        }
        let scale = weighted.len() as f64 / total;
        let mut cells: Vec<Cell> = weighted
            .iter()
            .map(|&(value, weight)| Cell {
                value,
                alias: value,
                keep: weight * scale,
            })
            .collect();
        pair_up(&mut cells);
        Some(Empirical { cells })
    }

    /// Every value equally likely. `None` if there is none.
    pub fn from_samples(values: &[f64]) -> Option<Empirical> {
        Empirical::new(&values.iter().map(|&value| (value, 1.0)).collect::<Vec<_>>())
    }
}

/// Fills each cell that is less than full from one that is more than full.
fn pair_up(cells: &mut [Cell]) {
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..cells.len()).partition(|&index| cells[index].keep < 1.0);
    while let (Some(&donor), Some(taker)) = (large.last(), small.pop()) {
        cells[taker].alias = cells[donor].value;
        cells[donor].keep -= 1.0 - cells[taker].keep;
        if cells[donor].keep < 1.0 {
            large.pop();
            small.push(donor);
        }
    }
    // The remaining cells are full but for rounding.
    for index in small.into_iter().chain(large) {
        cells[index].keep = 1.0;
    }
}

impl Distribution for Empirical {
    fn sample(&self, random: &mut RandomStream) -> f64 {
        let cell = &self.cells[random.below(self.cells.len() as u64) as usize];
        if random.unit() < cell.keep {
            cell.value
        } else {
            cell.alias
        }
    }
}
