//! Tests that try many cases try a sample of them, unless they are asked for all.

use std::env;
use std::sync::LazyLock;

/// The variable of the environment that asks for all cases.
const VARIABLE: &str = "ZARR_TEST_ALL";

/// Returns `all` if the environment variable `ZARR_TEST_ALL` is `1`, else `sample`.
///
/// A test that sweeps over faults, kills, seeds or sizes takes its bounds from this function: how many cases it tries, or which
/// of them. The sample is spread over the whole sweep, so that it still fails if what the test checks is broken. The variable is
/// read once for each process; child processes inherit it.
///
/// ```
/// use zarr_testkit::sample;
///
/// // Every seventh of 200 places at which a write can fail, or all of them.
/// for place in (0..200).step_by(sample(7, 1)) {
///     // ... a write fails there ...
/// #   let _ = place;
/// }
/// ```
pub fn sample<T>(sample: T, all: T) -> T {
    static ALL: LazyLock<bool> = LazyLock::new(|| asks_for_all(env::var(VARIABLE).ok().as_deref()));
    if *ALL { all } else { sample }
}

/// Whether a value of the variable asks for all cases.
fn asks_for_all(value: Option<&str>) -> bool {
    match value {
        None | Some("" | "0") => false,
        Some("1") => true,
        Some(other) => panic!("{VARIABLE} is `{other}`: set it to `1`, or not at all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_command;

    #[test]
    fn one_asks_for_all() {
        assert!([None, Some(""), Some("0")].into_iter().all(|value| !asks_for_all(value)));
        assert!(asks_for_all(Some("1")));
    }

    #[test]
    #[should_panic(expected = "ZARR_TEST_ALL is `yes`")]
    fn another_value_is_refused() {
        asks_for_all(Some("yes"));
    }

    #[test]
    fn the_environment_says_which_value_is_taken() {
        const CHILD: &str = "ZARR_TEST_SAMPLE_CHILD";
        if env::var_os(CHILD).is_some() {
            println!("took {}.", sample(3, 200));
            return;
        }
        for (value, expected) in [("0", "took 3."), ("1", "took 200.")] {
            let mut child =
                test_command(module_path!(), "the_environment_says_which_value_is_taken");
            let output =
                child.env(CHILD, "1").env(VARIABLE, value).output().expect("this program runs");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(expected), "{text}");
        }
    }
}
