//! The distance to the border between the cells of scattered points.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::NodeDef;

use super::cell::{Site, scattered, sites};
use super::{period, scaled, seed_words, tiling};
use crate::shape::{form_by_settings, sockets_of};

pub(super) fn edge() -> NodeDef {
    let def = NodeDef::new(
        "noise.cell_edge",
        "The distance to the nearest border between cells \
                                               (Voronoi edges)",
    )
    .details(
        "The points are those of `noise.cell` with the same inputs. The value is the distance \
             in cells to the nearest place that is equally far from two points: 0 on the borders, \
             up to about 0.5 or 1 at the points. Only points in cells adjacent to that of the \
             position are searched. The error is at most 1e-6. With `tile` the noise repeats \
             seamlessly after `period` cells along each axis.",
    )
    .source(
        "the distance to the plane between two points, as described by Inigo Quilez, \"voronoi \
             borders\"",
    );
    tiling(def)
        .sockets_by_settings(|settings| {
            let def = period(scattered(), settings.flag("tile"));
            Ok(sockets_of(&def.output("value", Type::F32, "distance in cells")))
        })
        .kernel(form_by_settings(|settings, inputs| {
            let tile = settings.flag("tile");
            let p = scaled(&inputs[0], inputs[1][0]);
            let period = tile.then(|| inputs[4].as_slice());
            let sites = sites(&p, &seed_words(inputs[2][0], 0), inputs[3][0], period);
            vec![vec![distance(&sites)]]
        }))
}

fn dot<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Val<'b> {
    let products = a.iter().zip(b).map(|(a, b)| *a * *b);
    products.reduce(|sum, product| sum + product).expect("space has dimensions")
}

fn distance<'b>(sites: &[Site<'b>]) -> Val<'b> {
    let squared: Vec<Val<'b>> = sites.iter().map(|site| dot(&site.way, &site.way)).collect();
    let mut nearest = sites[0].way.clone();
    let mut least = squared[0];
    for (site, square) in sites.iter().zip(&squared).skip(1) {
        let nearer = square.lt(least);
        nearest = nearest.iter().zip(&site.way).map(|(a, b)| nearer.select(*b, *a)).collect();
        least = nearer.select(*square, least);
    }
    // With a and b the vectors to the nearest point and another one, the plane between them is at
    // the distance (b^2 - a^2) / (2 |b - a|); for the nearest point itself there is none.
    let border = |(site, square): (&Site<'b>, &Val<'b>)| {
        let apart: Vec<Val<'b>> = site.way.iter().zip(&nearest).map(|(b, a)| *b - *a).collect();
        let apart = dot(&apart, &apart).sqrt();
        apart.eq(0.0).select(f64::INFINITY, (*square - least) / (apart * 2.0))
    };
    let borders = sites.iter().zip(&squared).map(border);
    borders.reduce(Val::min).expect("there are points")
}
