import SyncJSON

/// Reading a whole message: the errors of the reader become errors of the wire, with the message's name.
enum Message {
    static func read<Value>(
        _ bytes: [UInt8], _ name: StaticString, _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(WireError) -> Value {
        do throws(JSONError) {
            return try JSONReader.read(bytes, body)
        } catch {
            throw WireError(error, in: name)
        }
    }
}
