//! The built library, opened and driven by a host that is not ONNX Runtime but is made from the same declarations.
//!
//! The fake host ends the process when the library calls a slot that it has no business calling, gives something back
//! twice, or uses something after it gave it back; each test ends by checking that everything lent out came back.
#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::missing_safety_doc,
    unsafe_op_in_unsafe_fn,
    reason = "this is the foreign side: each pointer that it passes was made a few lines above"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "this is a test as a whole"
)]
mod fake;
#[allow(
    dead_code,
    reason = "declarations are written whole, the fake host uses a part"
)]
mod ffi;
mod ledger;
mod library;
mod traps;

use fake::{Attribute, Context, Graph, Node, Tensor, Value, hardware, host, old_host};
use ffi::ort::plugin::{OrtEp, OrtEpFactory, OrtNodeComputeInfo};
use ffi::ort::types::*;
use ledger::{turn, with};
use library::{Session, Told, create_factories, register, release_factory, told};
use std::ffi::{CStr, CString};
use std::ptr::{dangling, dangling_mut, null, null_mut};

const CPU: i32 = 0;
const GPU: i32 = 1;
const INVALID_ARGUMENT: i32 = 2;
const NOT_IMPLEMENTED: i32 = 9;

#[allow(clippy::vec_box, reason = "the graphs point to them")]
/// A graph `y = x + w`, with a second node `z = Foo(y)` that nobody knows.
struct Model {
    graph: Box<Graph>,
    /// The cluster that holds the addition, and the node that replaces it.
    cluster: Box<Graph>,
    fused: Box<Node>,
    _parts: (Vec<Box<Node>>, Vec<Box<Value>>),
}

fn node(
    name: &str,
    op: &str,
    since: i32,
    inputs: &[*const Value],
    outputs: &[*const Value],
) -> Box<Node> {
    let text = |s: &str| CString::new(s).unwrap();
    let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
    Box::new(Node {
        name: text(name),
        op: text(op),
        since,
        inputs,
        outputs,
        ..Node::default()
    })
}

impl Model {
    fn new() -> Self {
        let x = Value::floats("x", &[-1, 3]);
        let w = Value::constant("w", Tensor::floats(&[3], &[1.0, 2.0, 3.0]));
        let y = Value::floats("y", &[-1, 3]);
        let z = Value::floats("z", &[-1, 3]);
        let raw = |value: &Value| std::ptr::from_ref(value);
        let add = node("add", "Add", 14, &[raw(&x), raw(&w)], &[raw(&y)]);
        let mut unknown = node("foo", "Foo", 1, &[raw(&y)], &[raw(&z)]);
        // More than fits at once: the host answers the first reading with a status.
        let bytes = (0..40i64).flat_map(i64::to_ne_bytes).collect();
        unknown.attributes.push(Attribute {
            name: c"axes".into(),
            kind: 2,
            bytes,
        });
        let fused = node(
            "fused_0",
            "MLXExecutionProvider_1_0",
            1,
            &[raw(&x)],
            &[raw(&y)],
        );
        let graph = |nodes: &[&Node], output: &Value| {
            Box::new(Graph {
                name: c"main".into(),
                main_name: c"main".into(),
                inputs: vec![raw(&x)],
                outputs: vec![raw(output)],
                nodes: nodes.iter().map(|n| std::ptr::from_ref(*n)).collect(),
                ..Graph::default()
            })
        };
        Self {
            graph: graph(&[&add, &unknown], &z),
            cluster: graph(&[&add], &y),
            fused,
            _parts: (vec![add, unknown], vec![x, w, y, z]),
        }
    }
}

/// The lines of the log that say what was placed where.
fn placement_lines() -> Vec<String> {
    let is_placement = |text: &String| text.contains(" nodes in ");
    with(|ledger| {
        ledger
            .lines
            .iter()
            .map(|line| line.text.clone())
            .filter(is_placement)
            .collect()
    })
}

#[test]
fn a_host_before_plugins_is_refused_in_words() {
    let _turn = turn();
    let base = old_host("1.22.1", 22, 318);
    // 1.22 passes five other arguments: none may be touched.
    let status = unsafe {
        (library::exports().create)(
            dangling(),
            &raw const base,
            dangling(),
            dangling_mut(),
            7,
            dangling_mut(),
        )
    };
    let Told { code, text } = told(status).expect("refused");
    assert_eq!(code, NOT_IMPLEMENTED);
    for word in ["MLX EP: ", "1.22.1", "1.23", "install"] {
        assert!(text.contains(word), "{text}");
    }
    assert_eq!(
        with(|ledger| ledger.asked.iter().copied().collect::<Vec<_>>()),
        [22],
        "the host prints on each miss"
    );
}

#[test]
fn a_version_that_cannot_be_read_is_refused_in_words() {
    for version in ["2.0.0", "", "one"] {
        let _turn = turn();
        let base = host(version, 32);
        let Told { code, text } = create_factories(&base).expect_err("refused");
        assert_eq!(code, NOT_IMPLEMENTED, "{text}");
        assert_eq!(
            with(|ledger| ledger.asked.iter().copied().collect::<Vec<_>>()),
            [1]
        );
    }
}

#[test]
fn without_a_host_nothing_happens() {
    let _turn = turn();
    let status =
        unsafe { (library::exports().create)(null(), null(), null(), null_mut(), 0, null_mut()) };
    assert!(status.is_null());
}

#[test]
fn only_the_version_of_the_host_is_asked_for() {
    for newest in [23, 24, 27, 32, 40] {
        let _turn = turn();
        let base = host(&format!("1.{newest}.1"), newest);
        create_factories(&base).unwrap();
        assert_eq!(
            with(|ledger| ledger.asked.iter().copied().collect::<Vec<_>>()),
            [newest]
        );
    }
}

#[test]
fn registration_needs_a_place_for_the_factory() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let (mut factory, mut count) = (null_mut(), 0);
    let create = library::exports().create;
    for (factories, max, counts) in [
        (null_mut(), 4, &raw mut count),
        (&raw mut factory, 0, &raw mut count),
        (&raw mut factory, 4, null_mut()),
    ] {
        let status = unsafe { create(null(), &raw const base, null(), factories, max, counts) };
        assert_eq!(told(status).expect("refused").code, INVALID_ARGUMENT);
    }
}

#[test]
fn a_factory_says_who_it_is() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let factory = create_factories(&base).unwrap();
    let table = unsafe { &*factory };
    let text =
        |get: Option<unsafe extern "system" fn(*const OrtEpFactory) -> *const std::ffi::c_char>| {
            unsafe { CStr::from_ptr(get.unwrap()(factory)) }
                .to_str()
                .unwrap()
                .to_owned()
        };
    assert_eq!(table.ort_version_supported, 32);
    assert_eq!(text(table.GetName), "MLXExecutionProvider");
    assert_eq!(text(table.GetVersion), env!("CARGO_PKG_VERSION"));
    assert!(!text(table.GetVendor).is_empty());
    assert!(!unsafe { table.IsStreamAware.unwrap()(factory) });
    assert!(
        table.CreateAllocator.is_none() == table.ReleaseAllocator.is_none(),
        "1.31 wants both or none"
    );
    assert_eq!(table.spare, [0; 16]);
    let mut transfer = dangling_mut();
    assert!(
        told(unsafe { table.CreateDataTransfer.unwrap()(factory, &raw mut transfer) }).is_none()
    );
    assert!(transfer.is_null());
    let mut stream = dangling_mut();
    let status = unsafe {
        table.CreateSyncStreamForDevice.unwrap()(factory, null(), null(), &raw mut stream)
    };
    assert_eq!(told(status).expect("no streams").code, NOT_IMPLEMENTED);
    assert!(stream.is_null());
}

#[test]
fn exactly_one_device_is_offered() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let factory = create_factories(&base).unwrap();
    let devices = |offered: &[*const OrtHardwareDevice], room: usize| {
        let mut found = [null_mut(); 8];
        let mut count = 99;
        let get = unsafe { (*factory).GetSupportedDevices.unwrap() };
        let status = unsafe {
            get(
                factory,
                offered.as_ptr(),
                offered.len(),
                found.as_mut_ptr(),
                room,
                &raw mut count,
            )
        };
        assert!(told(status).is_none());
        assert_eq!(
            found.iter().filter(|device| !device.is_null()).count(),
            count
        );
        count
    };
    assert_eq!(
        devices(
            &[
                hardware(GPU, 0x10DE),
                hardware(CPU, 0x1022),
                hardware(CPU, 0x8086)
            ],
            8
        ),
        1
    );
    let vendor = unsafe { (*factory).GetVendorId.unwrap()(factory) };
    assert!([0x1022, 0x10DE, 0x106B].contains(&vendor), "{vendor:#x}");
    assert_eq!(devices(&[null()], 8), 0);
    assert_eq!(devices(&[], 8), 0);
    assert_eq!(devices(&[hardware(CPU, 0x1022)], 0), 0);
    assert_eq!(with(|ledger| ledger.devices), 1);
}

#[test]
fn null_objects_and_answers_are_refused() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let factory = create_factories(&base).unwrap();
    let session = Session::new(factory);
    let model = Model::new();
    let kernel = session.compile(&model.cluster, &model.fused).unwrap();
    let (f, e, k) = unsafe { (&*factory, &*session.ep, &*kernel) };
    let refused = |name: &str, status: *mut OrtStatus| {
        let Told { code, text } = told(status).unwrap_or_else(|| panic!("{name} took a null"));
        assert!(
            code == INVALID_ARGUMENT || code == 1,
            "{name}: {code} {text}"
        );
        assert!(text.starts_with("MLX EP: "), "{name}: {text}");
    };
    let graph = std::ptr::from_ref(&*model.graph).cast::<OrtGraph>();
    let support = dangling_mut::<OrtEpGraphSupportInfo>();
    unsafe {
        let devices = f.GetSupportedDevices.unwrap();
        let (mut device, mut count) = (null_mut(), 0);
        refused(
            "GetSupportedDevices",
            devices(null_mut(), null(), 0, &raw mut device, 8, &raw mut count),
        );
        refused(
            "GetSupportedDevices",
            devices(factory, null(), 1, &raw mut device, 8, &raw mut count),
        );
        refused(
            "GetSupportedDevices",
            devices(factory, null(), 0, null_mut(), 8, &raw mut count),
        );
        refused(
            "GetSupportedDevices",
            devices(factory, null(), 0, &raw mut device, 8, null_mut()),
        );
        let create = f.CreateEp.unwrap();
        let mut ep = null_mut();
        let options = dangling::<OrtSessionOptions>();
        refused(
            "CreateEp",
            create(null_mut(), null(), null(), 0, options, null(), &raw mut ep),
        );
        refused(
            "CreateEp",
            create(factory, null(), null(), 0, null(), null(), &raw mut ep),
        );
        refused(
            "CreateEp",
            create(factory, null(), null(), 0, options, null(), null_mut()),
        );
        assert!(ep.is_null());
        f.ReleaseEp.unwrap()(factory, null_mut());
        refused(
            "CreateDataTransfer",
            f.CreateDataTransfer.unwrap()(null_mut(), null_mut()),
        );
        assert!(told(f.CreateDataTransfer.unwrap()(factory, null_mut())).is_none());
        assert_eq!(f.GetVendorId.unwrap()(null()), 0);

        let capability = e.GetCapability.unwrap();
        refused("GetCapability", capability(null_mut(), graph, support));
        refused("GetCapability", capability(session.ep, null(), support));
        refused("GetCapability", capability(session.ep, graph, null_mut()));
        let compile = e.Compile.unwrap();
        let (mut graphs, mut nodes, mut infos) =
            ([null::<OrtGraph>()], [null::<OrtNode>()], [null_mut(); 1]);
        let (g, n, i) = (graphs.as_mut_ptr(), nodes.as_mut_ptr(), infos.as_mut_ptr());
        refused("Compile", compile(null_mut(), g, n, 1, i, null_mut()));
        refused("Compile", compile(session.ep, g, n, 1, i, null_mut()));
        refused(
            "Compile",
            compile(session.ep, null_mut(), n, 1, i, null_mut()),
        );
        refused(
            "Compile",
            compile(session.ep, g, n, 1, null_mut(), null_mut()),
        );
        assert!(
            told(compile(
                session.ep,
                null_mut(),
                null_mut(),
                0,
                null_mut(),
                null_mut()
            ))
            .is_none()
        );
        e.ReleaseNodeComputeInfos.unwrap()(session.ep, null_mut(), 3);
        e.ReleaseNodeComputeInfos.unwrap()(session.ep, i, 1);
        refused(
            "IsConcurrentRunSupported",
            e.IsConcurrentRunSupported.unwrap()(session.ep, null_mut()),
        );
        refused(
            "IsConcurrentRunSupported",
            e.IsConcurrentRunSupported.unwrap()(null_mut(), null_mut()),
        );
        refused(
            "OnSessionInitializationEnd",
            e.OnSessionInitializationEnd.unwrap()(null_mut()),
        );

        let mut state = null_mut();
        refused(
            "CreateState",
            k.CreateState.unwrap()(null_mut(), null_mut(), &raw mut state),
        );
        refused(
            "CreateState",
            k.CreateState.unwrap()(kernel, null_mut(), null_mut()),
        );
        refused(
            "Compute",
            k.Compute.unwrap()(null_mut(), null_mut(), null_mut()),
        );
        refused(
            "Compute",
            k.Compute.unwrap()(kernel, null_mut(), null_mut()),
        );
        k.ReleaseState.unwrap()(kernel, null_mut());
    }
    session.release_kernel(kernel);
}

#[test]
fn a_model_is_claimed_compiled_and_run_on_old_and_new_hosts() {
    for (version, newest) in [
        ("1.23.2", 23),
        ("1.24.1", 24),
        ("1.24.4", 24),
        ("1.26.0", 26),
        ("1.32.0", 32),
    ] {
        let _turn = turn();
        let base = host(version, newest);
        let factory = create_factories(&base).unwrap();
        let session = Session::new(factory);
        let model = Model::new();
        session.capability(&model.graph).unwrap();
        let add = model.graph.nodes[0] as usize;
        assert_eq!(with(|ledger| ledger.fused.clone()), [[add]], "{version}");
        assert_eq!(
            placement_lines().len(),
            usize::from(newest < 27),
            "{version}"
        );
        let kernel = session.compile(&model.cluster, &model.fused).unwrap();
        session.end_of_initialization();
        let lines = placement_lines();
        assert_eq!(lines.len(), 1, "{version}: {lines:?}");
        assert!(
            lines[0].contains("1 of 2 nodes in 1 partition; left to CPU: Foo x1"),
            "{lines:?}"
        );

        let x = Tensor::floats(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let before = x.bytes.clone();
        let context = Context {
            inputs: vec![Some(x)],
            output_codes: vec![1],
            ..Context::default()
        };
        session.compute(kernel, &context).unwrap();
        let outputs = context.outputs.into_inner().unwrap();
        let output = outputs[0].as_ref().unwrap();
        assert_eq!(
            output.to_floats(),
            [1.0, 3.0, 5.0, 4.0, 6.0, 8.0],
            "{version}"
        );
        assert_eq!(output.shape.dims.as_deref(), Some(&[2, 3][..]));
        assert_eq!(context.inputs[0].as_ref().unwrap().bytes, before);
        session.release_kernel(kernel);
    }
}

#[test]
fn bad_inputs_are_named_and_the_next_run_works() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let session = Session::new(create_factories(&base).unwrap());
    let model = Model::new();
    let kernel = session.compile(&model.cluster, &model.fused).unwrap();
    let run = |inputs: Vec<Option<Tensor>>| {
        let context = Context {
            inputs,
            output_codes: vec![1],
            ..Context::default()
        };
        session.compute(kernel, &context)
    };
    let mut wrong_type = Tensor::floats(&[1, 3], &[0.0; 6]);
    wrong_type.shape.code = 7;
    let mut negative = Tensor::floats(&[1, 3], &[0.0; 3]);
    negative.shape.dims = Some(vec![-1, 3]);
    for (what, input) in [
        ("int64", Some(wrong_type)),
        ("dimensions", Some(Tensor::floats(&[3], &[0.0; 3]))),
        ("impossible", Some(negative)),
        ("missing", None),
    ] {
        let Told { code, text } = run(vec![input]).expect_err(what);
        assert_eq!(code, INVALID_ARGUMENT, "{text}");
        assert!(
            text.starts_with("MLX EP: input 'x'") && text.contains(what),
            "{text}"
        );
    }
    // Shapes that do not broadcast fail in MLX or before it; either way with the node's name.
    let Told { text, .. } =
        run(vec![Some(Tensor::floats(&[1, 4], &[0.0; 4]))]).expect_err("no broadcast");
    assert!(text.contains("Add node 'add'"), "{text}");
    assert!(run(vec![]).is_err());
    run(vec![Some(Tensor::floats(&[1, 3], &[0.0; 3]))]).unwrap();
    session.release_kernel(kernel);
}

#[test]
fn each_failing_call_of_the_host_becomes_one_status() {
    let slots = {
        let _turn = turn();
        whole_session().unwrap();
        with(|ledger| ledger.called.clone())
    };
    assert!(slots.len() > 30 && slots["ReadOpAttr"] == 2, "{slots:?}");
    // What may fail without consequence: logging; and an attribute that cannot be read refuses its node.
    let ignored = [
        "Logger_LogMessage",
        "Logger_GetLoggingSeverityLevel",
        "OpAttr_GetType",
        "ReadOpAttr",
    ];
    for (slot, calls) in slots {
        for after in [0, calls / 2, calls - 1] {
            let _turn = turn();
            with(|ledger| ledger.fault = Some((slot, after)));
            let outcome = whole_session();
            assert!(
                with(|ledger| ledger.fault.is_none()),
                "{slot} was called less often than before"
            );
            match outcome {
                Err(Told { text, .. }) => {
                    assert!(
                        text.starts_with("MLX EP: ") && text.contains(slot),
                        "{slot}: {text}"
                    );
                }
                Ok(()) => assert!(ignored.contains(&slot), "a failure of {slot} was swallowed"),
            }
        }
    }
}

/// A registration, a session and a Run; the first failure.
fn whole_session() -> Result<(), Told> {
    let base = host("1.26.0", 26);
    let factory = create_factories(&base)?;
    library::supported_device(factory)?;
    let session = Session::try_new(factory)?;
    let model = Model::new();
    session.capability(&model.graph)?;
    let kernel = session.compile(&model.cluster, &model.fused)?;
    let inputs = vec![Some(Tensor::floats(&[1, 3], &[0.0; 3]))];
    let context = Context {
        inputs,
        output_codes: vec![1],
        ..Context::default()
    };
    let ran = session.compute(kernel, &context);
    session.release_kernel(kernel);
    ran
}

#[test]
fn a_panic_becomes_a_status_and_the_session_lives() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let session = Session::new(create_factories(&base).unwrap());
    let mut model = Model::new();
    // No vector has room for so many.
    model.graph.claims_nodes = Some(usize::MAX);
    let Told { text, .. } = session.capability(&model.graph).expect_err("a panic");
    assert!(
        text.starts_with("MLX EP: internal error") && text.contains("panic"),
        "{text}"
    );
    model.graph.claims_nodes = None;
    session.capability(&model.graph).unwrap();
}

#[test]
fn nothing_is_claimed_late_on_hosts_that_cannot() {
    for (version, newest, late) in [
        ("1.23.2", 23, 0),
        ("1.24.3", 24, 0),
        ("1.24.4", 24, 1),
        ("1.32.0", 32, 1),
    ] {
        let _turn = turn();
        let base = host(version, newest);
        let session = Session::new(create_factories(&base).unwrap());
        let claimed = || with(|ledger| std::mem::take(&mut ledger.fused).len());
        let model = Model::new();
        session.capability(&model.graph).unwrap();
        assert_eq!(claimed(), 1, "{version}");
        session.capability(&model.graph).unwrap();
        assert_eq!(claimed(), 1, "{version}: after a dry run");
        let kernel = session.compile(&model.cluster, &model.fused).unwrap();
        session.capability(&model.graph).unwrap();
        assert_eq!(claimed(), late, "{version}: after a compilation");
        session.release_kernel(kernel);
    }
}

#[test]
fn a_body_is_claimed_in_only_if_its_node_cannot_be() {
    // By host: whether a body of a refused node may be cut into partitions.
    for (version, newest, cuts) in [
        ("1.23.2", 23, 0),
        ("1.24.3", 24, 0),
        ("1.24.4", 24, 1),
        ("1.32.0", 32, 1),
    ] {
        let _turn = turn();
        let base = host(version, newest);
        let session = Session::new(create_factories(&base).unwrap());
        // The addition alone can be planned; the whole model has a node that cannot.
        let claimed_in = |op: &str, whole: bool, grandparent: Option<*const Node>| {
            let main = Graph {
                parent: grandparent,
                ..Graph::default()
            };
            let condition = Value::booleans("condition");
            let mut owner = node("owner", op, 16, &[std::ptr::from_ref(&*condition)], &[]);
            owner.graph = Some(&raw const main);
            let mut body = Model::new();
            if whole {
                std::mem::swap(&mut body.graph, &mut body.cluster);
            }
            body.graph.inputs.clear();
            body.graph.name = c"then_branch".into();
            let graph: *const Graph = &raw const *body.graph;
            owner.bodies = vec![(c"then_branch", graph), (c"else_branch", graph)];
            // ONNX Runtime 1.23 names no parent, only the graph of the model.
            body.graph.parent = (newest > 23).then_some(&raw const *owner);
            session.capability(&body.graph).unwrap();
            with(|ledger| std::mem::take(&mut ledger.fused).len())
        };
        assert_eq!(
            claimed_in("If", true, None),
            0,
            "{version}: left for the node"
        );
        assert_eq!(claimed_in("If", false, None), cuts, "{version}: cut");
        assert_eq!(
            claimed_in("SequenceMap", false, None),
            0,
            "{version}: of a function"
        );
        let function = node("map", "SequenceMap", 17, &[], &[]);
        let within = claimed_in("If", false, Some(&raw const *function));
        assert_eq!(within, 0, "{version}: within a body of a function");
    }
}

#[test]
fn nodes_of_other_providers_are_borders() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let session = Session::new(create_factories(&base).unwrap());
    let mut model = Model::new();
    let add = node("add", "Add", 14, &[], &[]);
    let assigned = Node {
        ep: c"MLXExecutionProvider".into(),
        ..*add
    };
    model.graph.nodes = vec![&raw const assigned];
    session.capability(&model.graph).unwrap();
    assert!(with(|ledger| ledger.fused.is_empty()));
}

#[test]
fn the_oldest_host_takes_a_graph_whole_or_not_at_all() {
    let _turn = turn();
    let base = host("1.23.0", 23);
    let session = Session::new(create_factories(&base).unwrap());
    assert!(with(|ledger| ledger
        .lines
        .iter()
        .any(|l| l.severity == 2 && l.text.contains("1.23.0"))));
    let model = Model::new();
    session.capability(&model.graph).unwrap();
    assert!(with(|ledger| ledger.fused.is_empty()));
    session.capability(&model.cluster).unwrap();
    assert_eq!(with(|ledger| ledger.fused.len()), 1);
}

#[test]
fn a_session_that_claims_nothing_says_so_once_as_a_warning() {
    let _turn = turn();
    let base = host("1.26.0", 26);
    let session = Session::new(create_factories(&base).unwrap());
    let mut model = Model::new();
    model.graph.nodes.remove(0);
    for _ in 0..3 {
        session.capability(&model.graph).unwrap();
    }
    session.end_of_initialization();
    let lines: Vec<_> = with(|l| {
        l.lines
            .iter()
            .filter(|l| l.text.contains(" nodes in "))
            .cloned()
            .collect()
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].severity, 2);
    assert!(
        lines[0]
            .text
            .starts_with("MLX: 0 of 1 nodes in 0 partitions; left to CPU: Foo x1 ("),
        "{lines:?}"
    );
}

#[test]
fn nothing_below_the_severity_of_the_session_is_logged() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let factory = create_factories(&base).unwrap();
    with(|ledger| {
        ledger.severity = 3;
        ledger.lines.clear();
    });
    let session = Session::new(factory);
    let model = Model::new();
    session.capability(&model.graph).unwrap();
    session.end_of_initialization();
    assert_eq!(with(|ledger| ledger.lines.clone()), []);
}

#[test]
fn options_are_read_from_the_session() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let factory = create_factories(&base).unwrap();
    let with_entry = |key: &str, value: &str| {
        with(|ledger| ledger.config = vec![(key.to_owned(), value.to_owned())]);
        Session::try_new(factory).map(drop)
    };
    with_entry("ep.mlxexecutionprovider.device", "cpu").unwrap();
    with_entry("ep.mlxexecutionprovider.arena.max_mem", "1").unwrap();
    with_entry("session.something", "1").unwrap();
    for (key, value, words) in [
        (
            "ep.mlxexecutionprovider.device",
            "tpu",
            ["'tpu'", "auto, gpu, cpu"],
        ),
        (
            "ep.mlxexecutionprovider.colour",
            "red",
            ["'colour'", "device"],
        ),
    ] {
        let Told { code, text } = with_entry(key, value).expect_err(key);
        assert_eq!(code, INVALID_ARGUMENT);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn a_session_outlives_its_registration_and_registering_again_works() {
    let _turn = turn();
    let base = host("1.32.0", 32);
    let first = create_factories(&base).unwrap();
    let second = create_factories(&base).unwrap();
    assert_ne!(first, second);
    let session = Session::new(first);
    let model = Model::new();
    let kernel = session.compile(&model.cluster, &model.fused).unwrap();
    assert!(release_factory(first).is_none());
    assert!(release_factory(first).is_none(), "released twice");
    assert!(release_factory(null_mut()).is_none());
    let Told { code, .. } = Session::try_new(first)
        .err()
        .expect("the factory is released");
    assert_eq!(code, INVALID_ARGUMENT);

    let inputs = vec![Some(Tensor::floats(&[1, 3], &[0.0; 3]))];
    let context = Context {
        inputs,
        output_codes: vec![1],
        ..Context::default()
    };
    session.compute(kernel, &context).unwrap();
    session.release_kernel(kernel);
    drop(session);
    drop(Session::new(second));
    drop(Session::new(register(&base)));
}

#[test]
fn objects_say_the_newest_version_and_what_they_do_not_do_is_null() {
    let _turn = turn();
    let base = host("1.23.2", 23);
    let session = Session::new(create_factories(&base).unwrap());
    let ep: &OrtEp = unsafe { &*session.ep };
    assert_eq!(ep.ort_version_supported, 32);
    assert_eq!(ep.spare, [0; 16]);
    assert!(
        ep.CreateAllocator.is_none()
            && ep.GetKernelRegistry.is_none()
            && ep.IsGraphCaptureEnabled.is_none()
    );
    assert_eq!(
        unsafe { CStr::from_ptr(ep.GetName.unwrap()(session.ep)) },
        c"MLXExecutionProvider"
    );
    let mut concurrent = false;
    assert!(
        told(unsafe { ep.IsConcurrentRunSupported.unwrap()(session.ep, &raw mut concurrent) })
            .is_none()
    );
    assert!(concurrent);
    let model = Model::new();
    let kernel: *mut OrtNodeComputeInfo = session.compile(&model.cluster, &model.fused).unwrap();
    assert_eq!(unsafe { (*kernel).ort_version_supported }, 32);
    session.release_kernel(kernel);
}
