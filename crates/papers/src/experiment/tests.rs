use super::*;

mod errors;
mod random;

fn experiment(vary: &str) -> Experiment {
    with(vary, "")
}

fn with(vary: &str, more: &str) -> Experiment {
    let text = format!("version = 1\nname = 'test'\nseed = 7\nrepetitions = 2\n[vary]\n{vary}\n{more}");
    Experiment::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The values of all keys at each point.
fn points(experiment: &Experiment) -> Vec<String> {
    let shown = |value: &Option<Arc<str>>| value.as_deref().unwrap_or("-").to_string();
    experiment.points().iter().map(|point| point.values().iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_grid_follows_the_order_of_the_file() {
    let experiment = experiment("nodes = [3, '5..6']\nalgorithm = ['cr', 'franklin']\nids = 'random'");
    assert_eq!(
        points(&experiment),
        [
            "3 chang-roberts random",
            "3 franklin random",
            "5 chang-roberts random",
            "5 franklin random",
            "6 chang-roberts random",
            "6 franklin random",
        ]
    );
    assert_eq!(experiment.runs(), 12);
    assert_eq!(experiment.describe(&experiment.points()[3]), "nodes = 5, algorithm = franklin");
}

#[test]
fn values_are_canonical() {
    let one = experiment("algorithm = 'cr'\nnodes = 10\nloss = 0.50\nids = '3, 1,2'\ncrash = '3@5, 4@9'\nruns = true");
    assert_eq!(points(&one), ["chang-roberts 10 0.5 3,1,2 3@5,4@9 true"]);
    let other = experiment(
        "algorithm = 'chang-roberts'\nnodes = '10'\nloss = '.5'\nids = '3,1,2'\ncrash = '3@5,4@9'\nruns = 'true'",
    );
    assert_eq!(one.points()[0].hash(), other.points()[0].hash());
}

#[test]
fn none_leaves_an_option_out() {
    let experiment = experiment(
        "algorithm = 'cr'\ncrash = ['none', '1@0']\nbandwidth = 'none'\nunordered = false\n\
         initiators = ['none', 'default']",
    );
    assert_eq!(
        points(&experiment),
        ["chang-roberts - - - none", "chang-roberts - - - -", "chang-roberts 1@0 - - none", "chang-roberts 1@0 - - -",]
    );
}

#[test]
fn braces_hold_formulas() {
    let experiment = experiment(
        "algorithm = 'sun'\nlet.u = [2, 4]\nlet.k = '{u-1}'\nnodes = '{u*8}'\np.u = '{u}'\n\
         crash = '{n-1}@0, {n/k}@{10*k}'",
    );
    assert_eq!(points(&experiment), ["sun 2 1 16 2 15@0,16@10", "sun 4 3 32 4 31@0,10@30"]);
    let sized = super::tests::experiment("algorithm = 'aefa'\ntopology = 'grid:4x5'\ncrash = '{n-1}@0'");
    assert_eq!(points(&sized), ["aefa grid:4x5 19@0"]);
}

#[test]
fn parameters_apply_to_algorithms_that_have_them() {
    let experiment = experiment("algorithm = ['bully', 'sun']\nnodes = 16\np.depth = [1, 2]\np.u = 4");
    assert_eq!(points(&experiment), ["bully 16 - -", "sun 16 1 4", "sun 16 2 4"]);
}

#[test]
fn skips_leave_points_out() {
    let vary = "algorithm = ['bully', 'cr']\nnodes = [3, 4, 5]\ncrash = ['none', '0@0']";
    let left = |skip: &str| points(&with(vary, skip)).join("; ");
    assert_eq!(
        left("[[skip]]\nalgorithm = 'bully'\n[[skip]]\ncrash = 'none'\nwhen = 'n > 3'"),
        "chang-roberts 3 -; chang-roberts 3 0@0; chang-roberts 4 0@0; chang-roberts 5 0@0"
    );
    assert_eq!(left("[[skip]]\nwhen = 'nodes % 2'\n[[skip]]\ncrash = '0@0'"), "bully 4 -; chang-roberts 4 -");
    assert_eq!(
        left("[[skip]]\nnodes = [3, 4]\n[[skip]]\nalgorithm = 'cr'\ncrash = ['none', '0@0']"),
        "bully 5 -; bully 5 0@0"
    );
}

#[test]
fn adding_a_point_changes_no_other_seed() {
    let few = experiment("algorithm = 'cr'\nnodes = [10, 20]\nids = 'random'");
    let many =
        experiment("ids = 'random'\ncrash = ['none', '1@0']\nalgorithm = ['le-lann', 'cr']\nnodes = [5, 20, 10]");
    for point in few.points() {
        let same = many.points().iter().find(|other| other.hash() == point.hash()).expect("it is still there");
        assert_eq!(point.seed(1), same.seed(1));
    }
    let mut seeds: Vec<u64> = many.points().iter().flat_map(|point| [point.seed(0), point.seed(1)]).collect();
    assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 24);
}

#[test]
fn seeds_never_change() {
    let experiment = experiment("algorithm = 'cr'\nnodes = 10");
    let point = &experiment.points()[0];
    assert_eq!((point.hash(), point.seed(0), point.seed(1)), GOLDEN);
}

const GOLDEN: (u64, u64, u64) = (15124592394845342966, 8910241187908224, 4164916165559416);

#[test]
fn only_paired_points_share_seeds() {
    let text =
        "version = 1\nname = 'pairs'\npair = ['algorithm']\n[vary]\nalgorithm = ['aefa', 'two-tier']\nnodes = [20, 30]";
    let experiment = Experiment::parse("pairs.toml", text).unwrap();
    let [a, b, c, d] = experiment.points() else { panic!("four points") };
    assert_eq!((a.seed(3), b.seed(3)), (c.seed(3), d.seed(3)));
    assert_ne!(a.seed(3), b.seed(3));
    assert_ne!(a.hash(), c.hash());
}

#[test]
fn the_fingerprint_changes_with_the_results() {
    let base = experiment("algorithm = 'cr'\nnodes = [3, 4]").fingerprint();
    assert_eq!(
        with("algorithm = 'cr'\nnodes = [3, 4]", "[[plot]]\nname = 'a'\nx = 'nodes'\ny = 'messages'").fingerprint(),
        base
    );
    assert_ne!(experiment("algorithm = 'cr'\nnodes = [4, 3]").fingerprint(), base);
    assert_ne!(experiment("algorithm = 'cr'\nnodes = [3, 5]").fingerprint(), base);
}

#[test]
fn plots_parse() {
    let plot = "[[plot]]\nname = 'messages'\ntitle = 'Messages'\nx = 'nodes'\n\
                y = 'messages / (n * `p.sun-depth`)'\nby = ['algorithm']\n\
                facet = 'let.u'\nlog = 'xy'\nwhere = { algorithm = 'sun-divided', let.u = [2, 3] }\n\
                formula = [{ label = 'n', y = 'n' }, { label = 'H', y = 'H(nodes)' }]";
    let experiment = with("algorithm = 'sun-divided'\nnodes = 64\nlet.u = [2, 4]\np.sun-depth = 1", plot);
    let [plot] = &experiment.plots[..] else { panic!("one plot") };
    assert_eq!((plot.name.as_str(), plot.x.as_str(), plot.facet.as_deref()), ("messages", "nodes", Some("let.u")));
    assert!(plot.log.x && plot.log.y && plot.formulas.len() == 2);
    assert_eq!(plot.filters[1].column, "let.u");
    assert_eq!(plot.filters[1].values, ["2", "3"]);
}
