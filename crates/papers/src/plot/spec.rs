//! The specification of a chart: a `[[plot]]` block of an experiment, or the options of `hustings plot`.

/// The specification of a chart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlotSpec {
    /// The name, which is valid in a file name; may be empty.
    pub name: String,
    /// The title; if empty, it is made from `y` and `x`.
    pub title: String,
    /// The column of the horizontal axis. Text gives bars, numbers give lines.
    pub x: String,
    /// The column of the vertical axis, or a formula over columns.
    pub y: String,
    /// A line for each combination of the values of these columns.
    pub by: Vec<String>,
    /// A panel for each value of this column.
    pub facet: Option<String>,
    /// Which axes are logarithmic.
    pub log: Log,
    /// Formulas to draw over the measured values.
    pub formulas: Vec<Overlay>,
    /// Filters for the rows.
    pub filters: Vec<Filter>,
    /// The label of the horizontal axis; by default the description of the column.
    pub x_label: Option<String>,
    /// The label of the vertical axis; by default the description of the column, or the formula.
    pub y_label: Option<String>,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// Whether the horizontal axis is logarithmic.
    pub x: bool,
    /// Whether the vertical axis is logarithmic.
    pub y: bool,
}

/// A formula to draw over the measured values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlay {
    /// The name in the legend.
    pub label: String,
    /// The formula over columns; `n` is `nodes`.
    pub y: String,
}

/// Selects rows by the value of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The column.
    pub column: String,
    /// The allowed values as text; the empty text stands for a missing value.
    pub values: Vec<String>,
}

/// The text does not name axes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` does not name axes; allowed: x, y, xy, or nothing for linear axes")]
pub struct UnknownAxes(pub String);

impl std::str::FromStr for Log {
    type Err = UnknownAxes;

    fn from_str(text: &str) -> Result<Self, UnknownAxes> {
        match text {
            "" => Ok(Log { x: false, y: false }),
            "x" => Ok(Log { x: true, y: false }),
            "y" => Ok(Log { x: false, y: true }),
            "xy" | "yx" => Ok(Log { x: true, y: true }),
            _ => Err(UnknownAxes(text.chars().take(40).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_parse() {
        assert_eq!("".parse(), Ok(Log::default()));
        assert_eq!("yx".parse(), Ok(Log { x: true, y: true }));
        assert_eq!("y".parse(), Ok(Log { x: false, y: true }));
        let error = "z".parse::<Log>().unwrap_err();
        assert_eq!(error.to_string(), "`z` does not name axes; allowed: x, y, xy, or nothing for linear axes");
    }
}
