//! The stated errors of the functions of [`num`](crate::num), as in the table there.

/// The largest error found of some functions, in ULP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The functions, by the names of their operations.
    pub functions: &'static [&'static str],
    /// The error in `f32`.
    pub f32: &'static str,
    /// The error in `f64`.
    pub f64: &'static str,
}

const fn stated(
    functions: &'static [&'static str],
    f32: &'static str,
    f64: &'static str,
) -> Stated {
    Stated { functions, f32, f64 }
}

/// All functions that are not correctly rounded.
pub const STATED: [Stated; 21] = [
    stated(&["sin", "cos"], "0.6", "0.86"),
    stated(&["tan"], "0.5001", "1.12"),
    stated(&["asin", "acos"], "0.5001", "0.81"),
    stated(&["atan", "atan2"], "0.5001", "0.84"),
    stated(&["sinh", "cosh"], "0.5001", "0.86"),
    stated(&["tanh"], "0.5001", "2.34"),
    stated(&["asinh"], "0.5001", "1.25"),
    stated(&["acosh", "atanh"], "0.5001", "1.57"),
    stated(&["exp"], "0.92", "0.81"),
    stated(&["exp2"], "0.501", "0.81"),
    stated(&["exp_m1"], "0.5001", "1.08"),
    stated(&["ln"], "0.85", "0.84"),
    stated(&["log2", "log10"], "0.512", "0.79"),
    stated(&["ln_1p"], "0.5001", "0.83"),
    stated(&["pow"], "0.501", "0.86"),
    stated(&["cbrt"], "0.5001", "0.67"),
    stated(&["hypot"], "0.5001", "0.51"),
    stated(&["erf"], "0.5001", "1.2"),
    stated(&["erfc"], "0.5001", "3.9"),
    stated(&["gamma"], "0.5001", "1.4 above zero, 4.3 below"),
    stated(&["ln_gamma"], "0.5001 above zero", "3.3 above zero"),
];

/// The stated error of a function.
pub fn stated_of(function: &str) -> Option<&'static Stated> {
    STATED.iter().find(|stated| stated.functions.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::STATED;

    #[test]
    fn the_table_of_the_module_says_the_same() {
        let rows =
            include_str!("../num.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
        let table: Vec<String> = rows.map(|row| format!("| `{row}")).collect();
        let stated = STATED.map(|stated| {
            let names: Vec<String> =
                stated.functions.iter().map(|name| format!("`{name}`")).collect();
            format!("| {} | {} | {} |", names.join(", "), stated.f32, stated.f64)
        });
        assert_eq!(table, stated);
    }
}
