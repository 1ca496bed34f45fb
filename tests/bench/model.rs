//! A model of one addition, as the bytes of its file.

/// ONNX's code of float32.
pub(crate) const FLOAT: u64 = 1;

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, message: Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// `ValueInfoProto` of a float32 vector.
fn vector(name: &str, length: u64) -> Message {
    let dimension = Message::default().number(1, length);
    let shape = Message::default().message(1, dimension);
    let tensor = Message::default().number(1, FLOAT).message(2, shape);
    let kind = Message::default().message(1, tensor);
    Message::default()
        .bytes(1, name.as_bytes())
        .message(2, kind)
}

/// `ModelProto` of `y = a + b` over float32 vectors.
pub(crate) fn addition(length: u64) -> Vec<u8> {
    let node = Message::default()
        .bytes(1, b"a")
        .bytes(1, b"b")
        .bytes(2, b"y")
        .bytes(3, b"add")
        .bytes(4, b"Add");
    let graph = Message::default()
        .message(1, node)
        .bytes(2, b"addition")
        .message(11, vector("a", length))
        .message(11, vector("b", length))
        .message(12, vector("y", length));
    let opset = Message::default().bytes(1, b"").number(2, 17);
    let model = Message::default()
        .number(1, 8)
        .message(7, graph)
        .message(8, opset);
    model.0
}
