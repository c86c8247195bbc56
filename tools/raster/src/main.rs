//! Times filters of `millstream-raster` beside those of the crates `image` and `imageproc`, on one
//! thread: a line per task and library, in milliseconds of processor time, least and median of
//! several runs.
//!
//! `peers.py` times OpenCV and libvips in the same form; `run.sh` runs both.

use std::time::Instant;

use image::{ImageBuffer, Luma, Pixel, Rgb, Rgba, imageops};
use imageproc::distance_transform::Norm;
use millstream_base::footprint::Footprint;
use millstream_base::image::Image;
use millstream_raster::blur::{BoxBlur, Gaussian};
use millstream_raster::crew::Crew;
use millstream_raster::distance::Distance;
use millstream_raster::morphology::{Morphology, Operation, Shape};
use millstream_raster::region::Edge;
use millstream_raster::resize::{Kernel, Resize};
use rustix::time::{ClockId, clock_gettime};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let run = |task: &str, library: &str, work: &mut dyn FnMut()| {
        if format!("{task} {library}").contains(&only) {
            time(task, library, work);
        }
    };
    for n_channels in [3, 4] {
        ours(n_channels, &run);
    }
    distances(&run);
    peers::<Rgb<f32>>(3, &run);
    peers::<Rgba<f32>>(4, &run);
    gray_peers(&run);
}

type Run<'a> = dyn Fn(&str, &str, &mut dyn FnMut()) + 'a;

fn ours(n_channels: usize, run: &Run<'_>) {
    let view = Footprint::of_size(WIDTH as i32, HEIGHT as i32);
    let image = Image::from_channels(view, n_channels, values(n_channels)).expect("it fits");
    let crop = image.view().crop;
    let crew = Crew::alone();
    let gaussian = Gaussian::of_radius([20.0; 2], Edge::Extend);
    run(&format!("gaussian 20, {n_channels} f32"), "millstream", &mut || {
        gaussian.apply(&image, crop, &crew).expect("nobody cancels");
    });
    let mean = BoxBlur { radius: [20.0; 2], edge: Edge::Extend };
    run(&format!("box 20, {n_channels} f32"), "millstream", &mut || {
        mean.apply(&image, crop, &crew).expect("nobody cancels");
    });
    let dilate = Morphology {
        operation: Operation::Dilate,
        shape: Shape::Square,
        radius: 10,
        edge: Edge::Extend,
    };
    run(&format!("dilate 10, {n_channels} f32"), "millstream", &mut || {
        dilate.apply(&image, crop, &crew).expect("nobody cancels");
    });
    let disc = Morphology { shape: Shape::Disc, ..dilate };
    run(&format!("dilate disc 10, {n_channels} f32"), "millstream", &mut || {
        disc.apply(&image, crop, &crew).expect("nobody cancels");
    });
    for size in [[1280, 720], [3840, 2160]] {
        let resize = Resize { size, kernel: Kernel::Lanczos3 };
        run(&format!("lanczos {}, {n_channels} f32", size[0]), "millstream", &mut || {
            resize.apply(&image, [0, 0, size[0], size[1]], &crew).expect("nobody cancels");
        });
    }
}

/// The mask of discs and, every 96 pixels, a dot; as in `peers.py`.
fn mask() -> Vec<f32> {
    let is_inside = |x: usize, y: usize| {
        let (dx, dy) = (x % 192, y % 192);
        let square = (dx as i32 - 96).pow(2) + (dy as i32 - 96).pow(2);
        square < 40 * 40 || dx == 0 && dy == 0
    };
    let at = |i: usize| if is_inside(i % WIDTH, i / WIDTH) { 1.0 } else { 0.0 };
    (0..WIDTH * HEIGHT).map(at).collect()
}

/// One pixel alone.
fn dot() -> Vec<f32> {
    let mut values = vec![0.0; WIDTH * HEIGHT];
    values[HEIGHT / 2 * WIDTH + WIDTH / 2] = 1.0;
    values
}

fn distances(run: &Run<'_>) {
    for (name, values) in [("discs", mask()), ("dot", dot())] {
        let view = Footprint::of_size(WIDTH as i32, HEIGHT as i32);
        let bytes = values.iter().map(|value| (value * 255.0) as u8).collect();
        let gray: ImageBuffer<Luma<u8>, Vec<u8>> =
            ImageBuffer::from_raw(WIDTH as u32, HEIGHT as u32, bytes).expect("it fits");
        let image = Image::from_channels(view, 1, values).expect("it fits");
        let crop = image.view().crop;
        let distance = Distance { channel: 0, threshold: 0.5, limit: 1e9 };
        run(&format!("distance {name}"), "millstream (signed)", &mut || {
            distance.apply(&image, crop, &Crew::alone()).expect("nobody cancels");
        });
        run(&format!("distance {name}"), "imageproc (unsigned, squares)", &mut || {
            let _ = imageproc::distance_transform::euclidean_squared_distance_transform(&gray);
        });
    }
}

fn peers<P>(n_channels: usize, run: &Run<'_>)
where
    P: Pixel<Subpixel = f32> + 'static,
{
    let image: ImageBuffer<P, Vec<f32>> =
        ImageBuffer::from_raw(WIDTH as u32, HEIGHT as u32, values(n_channels)).expect("it fits");
    for size in [[1280, 720], [3840, 2160]] {
        run(&format!("lanczos {}, {n_channels} f32", size[0]), "image", &mut || {
            let _ = imageops::resize(&image, size[0], size[1], imageops::FilterType::Lanczos3);
        });
    }
    run(&format!("gaussian 20, {n_channels} f32"), "image", &mut || {
        let _ = imageops::blur(&image, 20.0 / 3.0);
    });
    run(&format!("gaussian 20, {n_channels} f32"), "imageproc", &mut || {
        let _ = imageproc::filter::gaussian_blur_f32(&image, 20.0 / 3.0);
    });
}

fn gray_peers(run: &Run<'_>) {
    let bytes = values(1).iter().map(|x| (x * 255.0) as u8).collect();
    let gray: ImageBuffer<Luma<u8>, Vec<u8>> =
        ImageBuffer::from_raw(WIDTH as u32, HEIGHT as u32, bytes).expect("it fits");
    run("box 20, 1 u8", "imageproc", &mut || {
        let _ = imageproc::filter::box_filter(&gray, 20, 20);
    });
    run("dilate 10, 1 u8", "imageproc", &mut || {
        let _ = imageproc::morphology::dilate(&gray, Norm::LInf, 10);
    });
}

/// Smooth values with some noise, the same on each run.
fn values(n_channels: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let at = |i: usize| ((i / n_channels % WIDTH) as f32 * 0.01).sin() * 0.4 + 0.4;
    // As the engine and NumPy have them.
    let mut values = millstream_base::pages::room_in_huge_pages(WIDTH * HEIGHT * n_channels);
    values.extend((0..WIDTH * HEIGHT * n_channels).map(|i| at(i) + 0.2 * noise()));
    values
}

/// Time that this process has spent on a processor, other processes left out.
fn milliseconds_on_processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 * 1e-6
}

fn time(task: &str, library: &str, work: &mut dyn FnMut()) {
    let mut times: Vec<f64> = Vec::new();
    let begin = Instant::now();
    while times.len() < 3 || (times.len() < 25 && begin.elapsed().as_secs_f64() < 2.0) {
        let start = milliseconds_on_processor();
        work();
        times.push(milliseconds_on_processor() - start);
    }
    times.sort_by(f64::total_cmp);
    println!("{task}\t{library}\t{:.2}\t{:.2}", times[0], times[times.len() / 2]);
}
