import SyncJSON

/// Reads complete messages. Converts errors of the reader to errors of the wire format that name the message.
enum Message {
    static func read<Value>(
        _ bytes: [UInt8], _ name: StaticString, _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(WireError) -> Value {
        try bytes.withUnsafeBufferPointer { (bytes) throws(WireError) in try read(bytes, name, body) }
    }

    static func read<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ name: StaticString,
        _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(WireError) -> Value {
        do throws(JSONError) {
            return try JSONReader.read(bytes, body)
        } catch {
            throw WireError(error, in: name)
        }
    }
}
