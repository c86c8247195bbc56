//! Links to nodes far away in memory, of which these are told later, all in the order in which they lie.
//!
//! A new node is put among the users of what it reads. If these lie here and there, each costs a wait for
//! memory, several times what all else about the node does; so such links are written down first, and
//! made before somebody asks for users.

use millstream_base::pages::{reserve_in_huge_pages, room_in_huge_pages};

use super::LiveGraph;

/// Links that users do not know of yet.
#[derive(Debug, Default)]
pub(super) struct FarLinks {
    /// What is read, and by whom.
    links: Vec<Link>,
    /// What new nodes read at their first and their other inputs, last of all.
    last: [u32; 2],
}

type Link = [u32; 2];

/// What lies so near to what was read just now is at hand: as many nodes fill a part of a cache. Tests are
/// of few nodes.
const NEAR: u32 = if cfg!(test) { 2 } else { 1 << 12 };

/// So many nodes, as a power of two, fill a cache of the second level by half.
const AT_ONCE: u32 = if cfg!(test) { 2 } else { 14 };

impl FarLinks {
    /// Whether what is read by a new node at an input is near to what was touched last.
    #[inline]
    fn is_near(&mut self, k: usize, input: u32, reader: u32) -> bool {
        let last = std::mem::replace(&mut self.last[usize::from(k != 0)], input);
        reader.wrapping_sub(input).min(input.abs_diff(last)) < NEAR
    }

    pub(super) fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}

impl LiveGraph {
    /// Makes a new node a user of what it reads at an input, now or later.
    #[inline]
    pub(super) fn link_new(&mut self, k: usize, input: u32, reader: u32) {
        if self.far.is_near(k, input, reader) {
            self.users.add(&mut self.nodes[input as usize], reader);
        } else {
            reserve_in_huge_pages(&mut self.far.links, 1);
            self.far.links.push([input, reader]);
        }
    }

    /// Whether users of some nodes are not known yet.
    #[inline(always)]
    pub(super) fn has_far_links(&self) -> bool {
        !self.far.links.is_empty()
    }

    /// Makes the links that were written down; to be called before users are asked for.
    #[inline(always)]
    pub(super) fn link_far(&mut self) {
        if self.has_far_links() {
            self.link_all_far();
        }
    }

    #[cold]
    fn link_all_far(&mut self) {
        let links = std::mem::take(&mut self.far.links);
        let n_parts = (self.nodes.len() >> AT_ONCE) + 1;
        let links = if links.len() < n_parts { links } else { by_part(&links, n_parts) };
        for [input, reader] in links {
            self.users.add(&mut self.nodes[input as usize], reader);
        }
    }
}

/// Links in the order of the parts of the nodes that they lead to; those into one part keep theirs.
fn by_part(links: &[Link], n_parts: usize) -> Vec<Link> {
    let part = |link: &Link| (link[0] >> AT_ONCE) as usize;
    let mut next = vec![0_usize; n_parts];
    for link in links {
        next[part(link)] += 1;
    }
    let mut n = 0;
    for place in &mut next {
        n += std::mem::replace(place, n);
    }
    let mut sorted: Vec<Link> = room_in_huge_pages(links.len());
    sorted.resize(links.len(), [0; 2]);
    for link in links {
        let place = &mut next[part(link)];
        sorted[*place] = *link;
        *place += 1;
    }
    sorted
}
