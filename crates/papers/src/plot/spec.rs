//! What to draw from a table: the `[[plot]]` block of an experiment, or the options of `hustings plot`.

/// One chart, as it is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlotSpec {
    /// Its name, safe in a file name; empty where nobody asked for one.
    pub name: String,
    /// Its title; empty for one made of `y` and `x`.
    pub title: String,
    /// The column along the horizontal axis. Words there give bars, numbers give lines.
    pub x: String,
    /// The column along the vertical axis, or a formula over columns.
    pub y: String,
    /// A line for each combination of the values of these columns.
    pub by: Vec<String>,
    /// A panel for each value of this column.
    pub facet: Option<String>,
    /// Which axes are logarithmic.
    pub log: Log,
    /// Lines drawn over the measured ones.
    pub formulas: Vec<Overlay>,
    /// Only rows that pass all of these are drawn.
    pub filters: Vec<Filter>,
    /// What stands at the horizontal axis; otherwise what the column means.
    pub x_label: Option<String>,
    /// What stands at the vertical axis; otherwise what the column means, or the formula.
    pub y_label: Option<String>,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// The horizontal one.
    pub x: bool,
    /// The vertical one.
    pub y: bool,
}

/// A formula drawn over the measured lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlay {
    /// What the legend calls it.
    pub label: String,
    /// Its value, over columns; `n` is `nodes`.
    pub y: String,
}

/// A condition on a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The column.
    pub column: String,
    /// A row passes if its value, as text, is one of these; the empty text stands for a missing value.
    pub values: Vec<String>,
}

/// Text that names no axes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` names no axes; allowed: x, y, xy, or nothing for linear axes")]
pub struct NoAxes(pub String);

impl std::str::FromStr for Log {
    type Err = NoAxes;

    fn from_str(text: &str) -> Result<Self, NoAxes> {
        match text {
            "" => Ok(Log { x: false, y: false }),
            "x" => Ok(Log { x: true, y: false }),
            "y" => Ok(Log { x: false, y: true }),
            "xy" | "yx" => Ok(Log { x: true, y: true }),
            _ => Err(NoAxes(text.chars().take(40).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_named_by_letters() {
        assert_eq!("".parse(), Ok(Log::default()));
        assert_eq!("yx".parse(), Ok(Log { x: true, y: true }));
        assert_eq!("y".parse(), Ok(Log { x: false, y: true }));
        let error = "z".parse::<Log>().unwrap_err();
        assert_eq!(error.to_string(), "`z` names no axes; allowed: x, y, xy, or nothing for linear axes");
    }
}
