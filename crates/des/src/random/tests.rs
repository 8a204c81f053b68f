use super::*;

const SAMPLES: usize = 200_000;

fn stream() -> RandomStream {
    RandomStream::new(42, ProcessId(7))
}

/// The mean of the samples, and its standard error.
fn mean_and_error(distribution: &impl Distribution) -> (f64, f64) {
    let mut random = stream();
    let values: Vec<f64> = (0..SAMPLES)
        .map(|_| distribution.sample(&mut random))
        .collect();
    let mean = values.iter().sum::<f64>() / SAMPLES as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SAMPLES as f64;
    (mean, (variance / SAMPLES as f64).sqrt())
}

#[track_caller]
fn assert_mean(distribution: &impl Distribution, expected: f64) {
    let (mean, error) = mean_and_error(distribution);
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "mean {mean} ± {error}, expected {expected}"
    );
}

#[test]
fn setting_the_counter_back_repeats_the_draws() {
    let mut random = stream();
    random.bits();
    let first = [random.bits(), random.bits(), random.bits()];
    random.rewind(3);
    assert_eq!([random.bits(), random.bits(), random.bits()], first);
}

#[test]
fn streams_of_neighbouring_processes_and_seeds_differ() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..10 {
        for process in 0..1000 {
            assert!(seen.insert(RandomStream::new(seed, ProcessId(process)).bits()));
        }
    }
}

#[test]
fn the_generator_is_the_published_one() {
    // First outputs of SplitMix64 for seed 0 with the golden gamma.
    let mut random = RandomStream {
        origin: 0,
        gamma: GOLDEN_GAMMA,
        draws: 0,
    };
    assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
}

#[test]
fn integers_below_a_bound_are_even() {
    let mut random = stream();
    let mut counts = [0u32; 7];
    for _ in 0..70_000 {
        counts[random.below(7) as usize] += 1;
    }
    let chi_square: f64 = counts
        .iter()
        .map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0)
        .sum();
    assert!(
        chi_square < 22.46,
        "6 degrees of freedom, 0.1 %: {chi_square}"
    );
    assert_eq!(random.below(0), 0);
}

#[test]
fn means_are_right() {
    assert_mean(&Exponential::with_mean(2.5), 2.5);
    assert_mean(&Normal::new(-3.0, 2.0), -3.0);
    assert_mean(
        &LogNormal::new(0.5, 0.25),
        (0.5f64 + 0.25f64.powi(2) / 2.0).exp(),
    );
    let table = Empirical::new(&[(1.0, 1.0), (2.0, 0.0), (10.0, 3.0)]).expect("valid");
    assert_mean(&table, 31.0 / 4.0);
}

#[test]
fn zipf_matches_its_harmonic_sums() {
    for exponent in [0.6, 1.0, 1.4] {
        let sum = |power: f64| (1..=1000).map(|k| f64::from(k).powf(power)).sum::<f64>();
        assert_mean(
            &Zipf::new(1000, exponent),
            sum(1.0 - exponent) / sum(-exponent),
        );
    }
}

#[test]
fn an_impossible_table_is_refused() {
    assert!(Empirical::new(&[]).is_none());
    assert!(Empirical::new(&[(1.0, 0.0)]).is_none());
    assert!(Empirical::new(&[(1.0, -1.0), (2.0, 3.0)]).is_none());
    assert!(Empirical::new(&[(1.0, f64::NAN)]).is_none());
}
