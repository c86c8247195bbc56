//! The positions of the boxes of a graph drawn from left to right.
//!
//! The layer of a box is the length of the longest path to it; boxes move right toward their
//! readers if that shortens links. A link across several layers gets a dummy item in each, so that
//! it runs between boxes. The order within layers follows the medians of neighbors, swept in both
//! directions; the order with the fewest crossings wins. Heights are relaxed toward the mean of the
//! linked neighbors.

/// A box to place; sizes in pixels.
#[derive(Clone, Debug)]
pub(super) struct Box {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Whether the box belongs in the last layer.
    pub(super) is_last: bool,
}

/// A link between boxes; ports are heights below the top of the box, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) from_port: f64,
    pub(super) to: usize,
    pub(super) to_port: f64,
}

/// The positions of boxes and links, in pixels.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The left top corner of each box.
    pub(super) corners: Vec<(f64, f64)>,
    /// The points along each link, both ends included.
    pub(super) ways: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

const GAP_X: f64 = 70.0;
const GAP_Y: f64 = 22.0;
const STAND_IN_HEIGHT: f64 = 6.0;
const SWEEPS: usize = 12;

/// An item of a layer: a box, or the dummy of a link.
#[derive(Clone, Debug)]
struct Item {
    layer: usize,
    height: f64,
    /// Linked items of the adjacent layers, with the ports: (item, own port, its port).
    left: Vec<(usize, f64, f64)>,
    right: Vec<(usize, f64, f64)>,
    y: f64,
}

/// Places boxes; links lead from lower to higher positions in `boxes`.
pub(super) fn layout(boxes: &[Box], links: &[Link]) -> Layout {
    let layers_of = layers(boxes, links);
    let n_layers = layers_of.iter().max().map_or(1, |layer| layer + 1);
    let (mut items, chains) = items(boxes, links, &layers_of);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); n_layers];
    for (i, item) in items.iter().enumerate() {
        layers[item.layer].push(i);
    }
    reduce_crossings(&items, &mut layers);
    place(&mut items, &layers);

    let mut lefts = Vec::with_capacity(n_layers);
    let mut widths = vec![0.0_f64; n_layers];
    for (b, layer) in boxes.iter().zip(&layers_of) {
        widths[*layer] = widths[*layer].max(b.width);
    }
    let mut x = 0.0;
    for width in &widths {
        lefts.push(x);
        x += width + GAP_X;
    }
    let top = items.iter().map(|item| item.y).fold(f64::INFINITY, f64::min);
    let top = if top.is_finite() { top } else { 0.0 };
    let corner = |i: usize| (lefts[layers_of[i]], items[i].y - top);
    let corners: Vec<(f64, f64)> = (0..boxes.len()).map(corner).collect();
    let ways = links.iter().zip(&chains).map(|(link, chain)| {
        let (from, to) = (corners[link.from], corners[link.to]);
        let mut way = vec![(from.0 + boxes[link.from].width, from.1 + link.from_port)];
        for stand_in in chain {
            let item = &items[*stand_in];
            let y = item.y - top + STAND_IN_HEIGHT / 2.0;
            way.push((lefts[item.layer], y));
            way.push((lefts[item.layer] + widths[item.layer], y));
        }
        way.push((to.0, to.1 + link.to_port));
        way
    });
    let bottom = items.iter().map(|item| item.y - top + item.height).fold(0.0, f64::max);
    Layout { ways: ways.collect(), corners, width: (x - GAP_X).max(0.0), height: bottom }
}

fn layers(boxes: &[Box], links: &[Link]) -> Vec<usize> {
    let mut layer = vec![0; boxes.len()];
    let mut by_target: Vec<&Link> = links.iter().collect();
    by_target.sort_by_key(|link| link.to);
    for link in &by_target {
        layer[link.to] = layer[link.to].max(layer[link.from] + 1);
    }
    let last = layer.iter().max().copied().unwrap_or(0);
    for (i, b) in boxes.iter().enumerate() {
        if b.is_last {
            layer[i] = last;
        }
    }
    // A box with more readers than sources moves right, next to its nearest reader.
    let (mut n_in, mut n_out) = (vec![0; boxes.len()], vec![0; boxes.len()]);
    let mut nearest = vec![usize::MAX; boxes.len()];
    for link in links {
        n_in[link.to] += 1;
        n_out[link.from] += 1;
    }
    by_target.sort_by_key(|link| std::cmp::Reverse(link.from));
    let mut links = by_target.into_iter().peekable();
    for i in (0..boxes.len()).rev() {
        while let Some(link) = links.next_if(|link| link.from == i) {
            nearest[i] = nearest[i].min(layer[link.to]);
        }
        if n_out[i] > n_in[i] && nearest[i] != usize::MAX {
            layer[i] = layer[i].max(nearest[i] - 1);
        }
    }
    layer
}

/// The items, boxes first, and for each link its dummies from left to right.
fn items(boxes: &[Box], links: &[Link], layers: &[usize]) -> (Vec<Item>, Vec<Vec<usize>>) {
    let item = |layer, height| Item { layer, height, left: Vec::new(), right: Vec::new(), y: 0.0 };
    let mut items: Vec<Item> =
        boxes.iter().zip(layers).map(|(b, layer)| item(*layer, b.height)).collect();
    let mut chains = Vec::with_capacity(links.len());
    let middle = STAND_IN_HEIGHT / 2.0;
    // Links from one port share dummies.
    let mut shared: std::collections::HashMap<(usize, u64, usize), usize> =
        std::collections::HashMap::new();
    for link in links {
        let (mut at, mut port) = (link.from, link.from_port);
        let mut chain = Vec::new();
        for layer in layers[link.from] + 1..layers[link.to] {
            let key = (link.from, link.from_port.to_bits(), layer);
            let next = *shared.entry(key).or_insert_with(|| {
                items.push(item(layer, STAND_IN_HEIGHT));
                let next = items.len() - 1;
                items[at].right.push((next, port, middle));
                items[next].left.push((at, middle, port));
                next
            });
            chain.push(next);
            (at, port) = (next, middle);
        }
        items[at].right.push((link.to, port, link.to_port));
        items[link.to].left.push((at, link.to_port, port));
        chains.push(chain);
    }
    (items, chains)
}

fn reduce_crossings(items: &[Item], layers: &mut [Vec<usize>]) {
    let mut position = positions(items.len(), layers);
    let mut best: Vec<Vec<usize>> = layers.to_vec();
    let mut fewest = crossings(items, layers, &position);
    for sweep in 0..SWEEPS {
        let rightwards = sweep % 2 == 0;
        let order: Vec<usize> = if rightwards {
            (0..layers.len()).collect()
        } else {
            (0..layers.len()).rev().collect()
        };
        for l in order {
            let weight = |i: usize| {
                let beside = if rightwards { &items[i].left } else { &items[i].right };
                let place = |(other, _, port): &(usize, f64, f64)| {
                    position[*other] as f64 + port / (items[*other].height + 1.0)
                };
                let sum: f64 = beside.iter().map(place).sum();
                if beside.is_empty() { position[i] as f64 } else { sum / beside.len() as f64 }
            };
            let mut weighed: Vec<(f64, usize)> =
                layers[l].iter().map(|i| (weight(*i), *i)).collect();
            weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[l] = weighed.into_iter().map(|(_, i)| i).collect();
            for (p, i) in layers[l].iter().enumerate() {
                position[*i] = p;
            }
        }
        let n = crossings(items, layers, &position);
        if n < fewest {
            fewest = n;
            best = layers.to_vec();
        }
    }
    layers.clone_from_slice(&best);
}

fn positions(n_items: usize, layers: &[Vec<usize>]) -> Vec<usize> {
    let mut position = vec![0; n_items];
    for layer in layers {
        for (p, i) in layer.iter().enumerate() {
            position[*i] = p;
        }
    }
    position
}

/// The number of pairs of links between adjacent layers that cross.
fn crossings(items: &[Item], layers: &[Vec<usize>], position: &[usize]) -> usize {
    let mut n = 0;
    for layer in layers {
        let mut ends: Vec<(usize, f64)> = Vec::new();
        for i in layer {
            let mut of_item: Vec<(usize, f64)> =
                items[*i].right.iter().map(|(other, _, port)| (position[*other], *port)).collect();
            of_item.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            for end in &of_item {
                n += ends.iter().filter(|other| *other > end).count();
            }
            ends.extend(of_item);
        }
    }
    n
}

/// Sets heights: from the top without gaps, then toward the neighbors as far as other boxes allow.
fn place(items: &mut [Item], layers: &[Vec<usize>]) {
    for layer in layers {
        let total: f64 = layer.iter().map(|i| items[*i].height + GAP_Y).sum();
        let mut y = -total / 2.0;
        for i in layer {
            items[*i].y = y;
            y += items[*i].height + GAP_Y;
        }
    }
    for round in 0..4 * SWEEPS {
        let rightwards = round % 2 == 0;
        for step in 0..layers.len() {
            let l = if rightwards { step } else { layers.len() - 1 - step };
            let wish = |i: usize| {
                let item = &items[i];
                let both = round + 4 >= 4 * SWEEPS;
                let of = |beside: &[(usize, f64, f64)]| -> Vec<f64> {
                    beside.iter().map(|(o, own, port)| items[*o].y + port - own).collect()
                };
                let mut wishes = of(if rightwards { &item.left } else { &item.right });
                if both {
                    wishes = of(&item.left);
                    wishes.extend(of(&item.right));
                }
                let n = wishes.len();
                if n == 0 { item.y } else { wishes.iter().sum::<f64>() / n as f64 }
            };
            let wishes: Vec<f64> = layers[l].iter().map(|i| wish(*i)).collect();
            settle(items, &layers[l], &wishes);
        }
    }
}

/// The heights nearest to the desired ones that preserve the order and distance of boxes: boxes
/// that would overlap move as one block to the mean of their desired heights.
fn settle(items: &mut [Item], layer: &[usize], wishes: &[f64]) {
    struct Block {
        top: f64,
        height: f64,
        members: Vec<usize>,
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (member, wish) in wishes.iter().enumerate() {
        let height = items[layer[member]].height + GAP_Y;
        let mut block = Block { top: *wish, height, members: vec![member] };
        while let Some(before) = blocks.pop_if(|before| before.top + before.height > block.top) {
            let (n, m) = (before.members.len() as f64, block.members.len() as f64);
            let top = (n * before.top + m * (block.top - before.height)) / (n + m);
            let mut members = before.members;
            members.append(&mut block.members);
            block = Block { top, height: before.height + block.height, members };
        }
        blocks.push(block);
    }
    for block in blocks {
        let mut y = block.top;
        for member in block.members {
            let item = &mut items[layer[member]];
            item.y = y;
            y += item.height + GAP_Y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed() -> Box {
        Box { width: 100.0, height: 40.0, is_last: false }
    }

    fn link(from: usize, to: usize) -> Link {
        Link { from, from_port: 20.0, to, to_port: 20.0 }
    }

    #[test]
    fn boxes_do_not_overlap_and_links_lead_to_the_right() {
        let boxes = vec![boxed(); 12];
        let links: Vec<Link> = (0..12)
            .flat_map(|i| (i + 1..12).filter(move |j| (i * j) % 3 == 1).map(move |j| link(i, j)))
            .collect();
        let layout = layout(&boxes, &links);
        for link in &links {
            assert!(layout.corners[link.from].0 < layout.corners[link.to].0);
        }
        for (i, a) in layout.corners.iter().enumerate() {
            for b in &layout.corners[..i] {
                assert!(a.0 != b.0 || (a.1 - b.1).abs() >= 40.0 + GAP_Y - 1e-6, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_long_link_is_led_through_the_layers_between() {
        let boxes = vec![boxed(); 3];
        let layout = layout(&boxes, &[link(0, 1), link(1, 2), link(0, 2)]);
        assert_eq!(layout.ways[2].len(), 4);
        assert_eq!(layout.ways[0].len(), 2);
    }

    #[test]
    fn links_that_could_be_drawn_straight_do_not_cross() {
        let boxes = vec![boxed(); 4];
        let layout = layout(&boxes, &[link(0, 3), link(1, 2)]);
        let y = |i: usize| layout.corners[i].1;
        assert_eq!(y(0) < y(1), y(3) < y(2));
    }
}
