//! `hustings plot`.

use std::path::{Path, PathBuf};

use clap::Args;
use hustings_elections::Catalogue;
use hustings_papers::plot::{Chart, Filter, Log, Overlay, PlotSpec, png, svg};
use hustings_papers::table::Table;
use hustings_papers::table::file::{join, open};
use serde_json::json;

use super::args::Format;
use super::console::{Console, Exit};
use super::failure::{Failure, warn};
use super::files::write_whole;
use super::plot_json;
use super::read::{Explain, one_of, read};
use super::sweep::load;

const EXAMPLES: &str = "Examples:
  hustings plot rings.csv --experiment rings.toml --out figures     every [[plot]] of the experiment
  hustings plot rings.parquet --x nodes --y messages --by algorithm --log xy --formula 'n log n=n*log2(n)' --out a.svg
  hustings plot rings.csv --x nodes --y 'messages / n' --facet bandwidth --where algorithm=aefa --png --out a.png
  hustings plot rings.csv --x algorithm --y elected --by nodes --out bars.svg        text on the x axis gives bars
  hustings plot a.csv b.csv --x nodes --y messages --format json                     the numbers as JSON, no picture

A point is the mean of the rows with the same x, and a band is its 95 % confidence interval (Student's t; Wilson's for
booleans). In formulas, `n` is the column `nodes`; other names are written in backquotes: `messages.are-you-there`.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlotArgs {
    /// Results of a sweep (.csv or .parquet); several files with the same columns are joined.
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    /// Draws the [[plot]] blocks of this experiment.
    #[arg(
        long,
        value_name = "FILE.toml",
        conflicts_with_all = ["x", "y", "by", "facet", "log", "formulas", "filters", "title", "x_label", "y_label"]
    )]
    experiment: Option<PathBuf>,
    /// Draws only this plot of the experiment.
    #[arg(long, value_name = "NAME", requires = "experiment")]
    plot: Option<String>,
    /// The column of the horizontal axis.
    #[arg(long, value_name = "COL", required_unless_present = "experiment")]
    x: Option<String>,
    /// The column of the vertical axis, or a formula over columns.
    #[arg(long, value_name = "EXPR", required_unless_present = "experiment", allow_hyphen_values = true)]
    y: Option<String>,
    /// Draws a line for each combination of the values of these columns.
    #[arg(long, value_name = "COL,COL", value_delimiter = ',')]
    by: Vec<String>,
    /// Draws a panel for each value of this column.
    #[arg(long, value_name = "COL")]
    facet: Option<String>,
    /// The logarithmic axes.
    #[arg(long, value_name = "AXES", value_parser = one_of(&["x", "y", "xy"], str::parse::<Log>))]
    log: Option<Log>,
    /// Adds a formula over columns as a dashed line; repeatable.
    #[arg(long = "formula", value_name = "LABEL=EXPR", value_parser = read(formula), allow_hyphen_values = true)]
    formulas: Vec<Overlay>,
    /// Selects rows with this value; repeatable. Several values of one column are alternatives. An empty value selects
    /// rows without a value.
    #[arg(long = "where", value_name = "COL=VALUE", value_parser = read(filter))]
    filters: Vec<Filter>,
    /// The title of the chart.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The label of the horizontal axis.
    #[arg(long, value_name = "TEXT")]
    x_label: Option<String>,
    /// The label of the vertical axis.
    #[arg(long, value_name = "TEXT")]
    y_label: Option<String>,
    /// Writes PNG instead of SVG; this is the default for file names that end in .png.
    #[arg(long)]
    png: bool,
    /// The output file, or - for standard output; a folder for all plots of an experiment
    /// [default: - or the current folder; no picture with --format json].
    #[arg(long, value_name = "FILE|-")]
    out: Option<PathBuf>,
    /// The output format: the names of the files, or the numbers as JSON.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Why the value of an option is invalid.
#[derive(Debug)]
pub(crate) struct InvalidValue(&'static str);

impl Explain for InvalidValue {
    fn explain(&self) -> (String, Option<String>) {
        (self.0.to_string(), None)
    }
}

fn formula(text: &str) -> Result<Overlay, InvalidValue> {
    // The equals sign of a comparison does not end the label.
    let bytes = text.as_bytes();
    let compares =
        |at: usize| bytes.get(at + 1) == Some(&b'=') || (at > 0 && matches!(bytes[at - 1], b'=' | b'<' | b'>' | b'!'));
    let lone = (0..bytes.len()).find(|at| bytes[*at] == b'=' && !compares(*at));
    let (label, y) = lone.map_or((text, text), |at| (&text[..at], &text[at + 1..]));
    if label.trim().is_empty() || y.trim().is_empty() {
        return Err(InvalidValue(
            "a part is missing; allowed: LABEL=EXPR, or a formula alone, which is then its own label",
        ));
    }
    Ok(Overlay { label: label.trim().to_string(), y: y.trim().to_string() })
}

fn filter(text: &str) -> Result<Filter, InvalidValue> {
    match text.split_once('=') {
        Some((column, value)) if !column.is_empty() => {
            Ok(Filter { column: column.to_string(), values: vec![value.to_string()] })
        }
        _ => Err(InvalidValue("the column or `=` is missing; allowed: COL=VALUE")),
    }
}

/// The destination of a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    None,
    Standard,
    File(PathBuf),
    Folder(PathBuf),
}

pub(crate) fn run(args: &PlotArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let target = target(args)?;
    let specs = specs(args, catalogue)?;
    let working = console.spinner("reading the results".to_string());
    let table = results(&args.results)?;
    drop(working);
    let mut charts = Vec::new();
    for spec in &specs {
        // The error names the plot.
        let named = |error| Failure::Plot { name: spec.name.clone(), error };
        charts.push(Chart::from_table(&table, spec).map_err(named)?);
    }
    let mut objects = Vec::new();
    for chart in &charts {
        if chart.left_out > 0 {
            let all = chart.rows + chart.left_out;
            let name = if chart.name.is_empty() { String::new() } else { format!("{}: ", chart.name) };
            warn(console, &format!("{name}{} of {all} rows have no drawable values", chart.left_out));
        }
        let file = draw(args, chart, &target, console)?;
        if args.format == Format::Text {
            if let Some(file) = &file {
                writeln!(console.out, "{}", file.display())?;
            }
        } else {
            objects.push(plot_json::chart(chart, file.as_deref()));
        }
    }
    if args.format == Format::Json {
        writeln!(console.out, "{}", json!({ "charts": objects }))?;
    }
    Ok(Exit::Done)
}

fn target(args: &PlotArgs) -> Result<Target, Failure> {
    let many = args.experiment.is_some() && args.plot.is_none();
    let conflict =
        |problem: &str, help: &str| Err(Failure::Conflict { problem: problem.to_string(), help: help.to_string() });
    match &args.out {
        None if args.format == Format::Json => Ok(Target::None),
        None if many => Ok(Target::Folder(PathBuf::from("."))),
        None => Ok(Target::Standard),
        Some(out) if out.as_os_str() == "-" => match args.format {
            Format::Json => conflict("--out -: standard output is used for the numbers", "name a file"),
            Format::Text if many => {
                conflict("--out -: an experiment may have several plots", "--plot NAME draws one of them")
            }
            Format::Text => Ok(Target::Standard),
        },
        Some(out) if many => Ok(Target::Folder(out.clone())),
        Some(out) if args.png && has_ending(out, "svg") => {
            conflict("--png: the file's name ends in .svg", "leave out --png, or name it .png")
        }
        Some(out) => Ok(Target::File(out.clone())),
    }
}

fn has_ending(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(wanted))
}

/// The specifications of the charts.
fn specs(args: &PlotArgs, catalogue: &Catalogue) -> Result<Vec<PlotSpec>, Failure> {
    let Some(path) = &args.experiment else {
        let mut filters: Vec<Filter> = Vec::new();
        for filter in &args.filters {
            match filters.iter_mut().find(|known| known.column == filter.column) {
                Some(known) => known.values.extend(filter.values.iter().cloned()),
                None => filters.push(filter.clone()),
            }
        }
        return Ok(vec![PlotSpec {
            name: String::new(),
            title: args.title.clone().unwrap_or_default(),
            x: args.x.clone().unwrap_or_default(),
            y: args.y.clone().unwrap_or_default(),
            by: args.by.clone(),
            facet: args.facet.clone(),
            log: args.log.unwrap_or_default(),
            formulas: args.formulas.clone(),
            filters,
            x_label: args.x_label.clone(),
            y_label: args.y_label.clone(),
        }]);
    };
    let experiment = load(path, catalogue)?;
    if experiment.plots.is_empty() {
        let problem = format!("{} has no [[plot]]", path.display());
        return Err(Failure::Conflict { problem, help: "add a [[plot]], or use --x and --y".to_string() });
    }
    match &args.plot {
        None => Ok(experiment.plots),
        Some(name) => {
            let known = experiment.plots.iter().map(|plot| plot.name.as_str());
            let found = experiment.plots.iter().find(|plot| plot.name == *name).cloned();
            found.map(|plot| vec![plot]).ok_or_else(|| Failure::unknown("plot", name, known))
        }
    }
}

fn results(paths: &[PathBuf]) -> Result<Table, Failure> {
    let mut tables = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let table = open(path).map_err(|error| Failure::Results { path: shown.clone(), error })?;
        tables.push((shown, table));
    }
    if tables.len() == 1 {
        // A single file needs no copy.
        return Ok(tables.remove(0).1);
    }
    let all = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    join(tables).map_err(|error| Failure::Results { path: all, error })
}

/// Draws a chart and returns its file.
fn draw(
    args: &PlotArgs,
    chart: &Chart,
    target: &Target,
    console: &mut Console<'_>,
) -> Result<Option<PathBuf>, Failure> {
    let (file, as_png) = match target {
        Target::None => return Ok(None),
        Target::Standard => (None, args.png),
        Target::File(file) => (Some(file.clone()), args.png || has_ending(file, "png")),
        Target::Folder(folder) => {
            let ending = if args.png { "png" } else { "svg" };
            (Some(folder.join(format!("{}.{ending}", chart.name))), args.png)
        }
    };
    let picture = svg(chart);
    let bytes = if as_png { png(&picture).map_err(Failure::Png)? } else { picture.into_bytes() };
    let Some(file) = file else {
        console.out.write_all(&bytes)?;
        return Ok(None);
    };
    let unwritable = |error| Failure::Unwritable { option: "--out", path: file.display().to_string(), error };
    if let Target::Folder(folder) = target {
        std::fs::create_dir_all(folder).map_err(unwritable)?;
    }
    write_whole(&file, |out| out.write_all(&bytes)).map_err(unwritable)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_ends_at_the_first_single_equals_sign() {
        let parts = |text: &str| formula(text).map(|overlay| (overlay.label, overlay.y)).ok();
        let some = |label: &str, y: &str| Some((label.to_string(), y.to_string()));
        assert_eq!(parts("n(n-1)=n*(n-1)"), some("n(n-1)", "n*(n-1)"));
        assert_eq!(parts("n*(n-1)"), some("n*(n-1)", "n*(n-1)"));
        assert_eq!(parts("few = n <= 10"), some("few", "n <= 10"));
        assert_eq!(parts("n <= 10"), some("n <= 10", "n <= 10"));
        assert_eq!(parts("n"), some("n", "n"));
        assert_eq!(parts("=n"), None);
        assert_eq!(parts("ä="), None);
    }

    #[test]
    fn a_filter_has_a_column_and_a_value() {
        let filter = |text: &str| filter(text).map(|filter| (filter.column, filter.values)).ok();
        assert_eq!(filter("crash=3@5, 4@9"), Some(("crash".to_string(), vec!["3@5, 4@9".to_string()])));
        assert_eq!(filter("crash="), Some(("crash".to_string(), vec![String::new()])));
        assert_eq!((filter("crash"), filter("=1")), (None, None));
    }
}
