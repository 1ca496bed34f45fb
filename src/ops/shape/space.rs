//! DepthToSpace and SpaceToDepth.
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("DepthToSpace", 1..=10, [ANY], |node| depth_to_space(
        node,
        Order::BlockFirst
    )),
    op!("DepthToSpace", 11.., [ANY], |node| depth_to_space(
        node,
        Order::of(node)?
    )),
    op!("SpaceToDepth", 1..=27, [ANY], |node| space_to_depth(
        node,
        Order::BlockFirst
    )),
    op!("SpaceToDepth", 28.., [ANY], |node| space_to_depth(
        node,
        Order::of(node)?
    )),
];

/// How a channel of the deep tensor is made of a position in the block and a channel.
#[derive(Clone, Copy)]
enum Order {
    /// "DCR".
    BlockFirst,
    /// "CRD".
    ChannelFirst,
}

impl Order {
    fn of(node: &NodeRef<'_>) -> Result<Self, Reject> {
        match node.string_or("mode", "DCR")? {
            "DCR" => Ok(Self::BlockFirst),
            "CRD" => Ok(Self::ChannelFirst),
            _ => node.bad_attribute("mode"),
        }
    }
}

fn block(node: &NodeRef<'_>) -> Result<usize, Reject> {
    let size = node.int("blocksize")?;
    let size = size.and_then(|size| usize::try_from(i32::try_from(size).ok()?).ok());
    match size {
        Some(size) if size > 0 => Ok(size),
        _ => node.bad_attribute("blocksize"),
    }
}

fn depth_to_space(node: &NodeRef<'_>, order: Order) -> Planned {
    let block = block(node)?;
    lower(move |cx, x| {
        let [n, c, h, w] = image(x.dims(0)?)?;
        let channels = whole(c, block * block, 1)?;
        let (split, perm) = match order {
            Order::BlockFirst => ([n, block, block, channels, h, w], [0, 3, 4, 1, 5, 2]),
            Order::ChannelFirst => ([n, channels, block, block, h, w], [0, 1, 4, 2, 5, 3]),
        };
        let moved = cx.transpose(&cx.reshape(x.array(0)?, &split)?, &perm)?;
        cx.reshape(&moved, &[n, channels, h * block, w * block])
    })
}

fn space_to_depth(node: &NodeRef<'_>, order: Order) -> Planned {
    let block = block(node)?;
    lower(move |cx, x| {
        let [n, c, h, w] = image(x.dims(0)?)?;
        let (rows, columns) = (whole(h, block, 2)?, whole(w, block, 3)?);
        let perm = match order {
            Order::BlockFirst => [0, 3, 5, 1, 2, 4],
            Order::ChannelFirst => [0, 1, 3, 5, 2, 4],
        };
        let split = cx.reshape(x.array(0)?, &[n, c, rows, block, columns, block])?;
        let moved = cx.transpose(&split, &perm)?;
        let depth = c.saturating_mul(block).saturating_mul(block);
        cx.reshape(&moved, &[n, depth, rows, columns])
    })
}

fn image(dims: &[usize]) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(dims)
        .map_err(|_| Error::invalid(format!("input 0 of shape {dims:?} is not of rank 4")))
}

/// `size / parts`, which must leave nothing.
fn whole(size: usize, parts: usize, axis: usize) -> Result<usize> {
    if size.is_multiple_of(parts) {
        return Ok(size / parts);
    }
    Err(Error::invalid(format!(
        "axis {axis} of input 0 has {size} elements, no multiple of {parts}"
    )))
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, ints};

    fn counted(dims: &[usize]) -> Data {
        let count = dims.iter().product::<usize>();
        ints(
            DType::I32,
            dims,
            &(0..i64::try_from(count).unwrap()).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn depth_becomes_space_in_both_orders() {
        let run = |mode: Option<&str>, dims: &[usize]| {
            let case = Case::new("DepthToSpace", 13)
                .int("blocksize", 2)
                .input(counted(dims));
            let out = match mode {
                Some(mode) => case.string("mode", mode).run(),
                None => case.run(),
            };
            (out[0].dims().to_vec(), out[0].ints())
        };
        let dcr = (
            vec![1, 2, 2, 4],
            vec![0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15],
        );
        assert_eq!(run(None, &[1, 8, 1, 2]), dcr);
        assert_eq!(run(Some("DCR"), &[1, 8, 1, 2]), dcr);
        let crd = vec![0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15];
        assert_eq!(run(Some("CRD"), &[1, 8, 1, 2]), (vec![1, 2, 2, 4], crd));
        assert_eq!(run(None, &[0, 4, 3, 2]).0, [0, 1, 6, 4]);
    }

    #[test]
    fn space_becomes_depth_and_back() {
        let out = Case::new("SpaceToDepth", 1)
            .int("blocksize", 2)
            .input(counted(&[1, 2, 2, 2]))
            .run();
        assert_eq!(
            (out[0].dims(), out[0].ints()),
            (&[1, 8, 1, 1][..], vec![0, 4, 1, 5, 2, 6, 3, 7])
        );
        for mode in ["DCR", "CRD"] {
            let case = |op, data| {
                Case::new(op, 28)
                    .int("blocksize", 2)
                    .string("mode", mode)
                    .input(data)
            };
            let deep = case("SpaceToDepth", counted(&[2, 3, 4, 2])).run();
            assert_eq!(deep[0].dims(), [2, 12, 2, 1]);
            let deep = ints(DType::I32, &[2, 12, 2, 1], &deep[0].ints());
            let back = case("DepthToSpace", deep).run();
            assert_eq!(back[0].bytes(), counted(&[2, 3, 4, 2]).bytes);
        }
    }

    #[test]
    fn shapes_and_attributes_that_do_not_fit() {
        for (op, dims) in [
            ("DepthToSpace", &[1, 3, 1, 1][..]),
            ("DepthToSpace", &[4, 1, 1]),
            ("SpaceToDepth", &[1, 1, 3, 2]),
            ("SpaceToDepth", &[1, 1, 2, 3]),
        ] {
            let case = Case::new(op, 13).int("blocksize", 2).input(counted(dims));
            assert!(case.try_run().is_err());
        }
        let data = || f32s(&[1, 1, 1, 1], &[0.0]);
        let case = Case::new("DepthToSpace", 13).input(data());
        assert_eq!(case.reject(), Reject::Attribute("blocksize".into()));
        let case = Case::new("SpaceToDepth", 13)
            .int("blocksize", 0)
            .input(data());
        assert_eq!(case.reject(), Reject::Attribute("blocksize".into()));
        for (op, mode) in [("DepthToSpace", "RCD"), ("SpaceToDepth", "DCR")] {
            let case = Case::new(op, 13).int("blocksize", 1).string("mode", mode);
            assert_eq!(
                case.input(data()).reject(),
                Reject::Attribute("mode".into())
            );
        }
    }
}
