//! x
mod bench;
fn main() {
    let a: Vec<u32> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let plan = bench::Plan { ring_sizes: vec![a[0]], graph_sizes: vec![a[1]], rounds: a[2], threads: 2, seed: 1 };
    let rows = bench::run(&plan, |s| eprintln!("{s}")).unwrap();
    print!("{}", bench::to_text(&rows));
}
