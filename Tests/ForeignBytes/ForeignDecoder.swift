/// A decoder of bytes that somebody else made, and what must hold of it whatever the bytes are.
///
/// The fuzzer and ordinary tests call the same decoders. That a decoder returns at all is the first of its promises.
package struct ForeignDecoder: Sendable {
    /// How the fuzzer's command line and the folders of its corpus call it.
    package let name: String
    /// Good inputs, from which a search for bad ones starts.
    package let seeds: @Sendable () throws -> [[UInt8]]
    /// Decodes the bytes.
    ///
    /// - Throws: `BrokenPromise`. That the bytes are refused is no failure.
    package let check: @Sendable ([UInt8]) throws -> Void

    init(
        _ name: String, seeds: @escaping @Sendable () throws -> [[UInt8]],
        check: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.seeds = seeds
        self.check = check
    }

    /// A decoder with an encoder: what decodes must encode to what decodes equal, always in the same bytes.
    init<Value: Equatable & SendableMetatype>(
        _ name: String, seeds: @escaping @Sendable () throws -> [[UInt8]],
        decode: @escaping @Sendable ([UInt8]) throws -> Value, encode: @escaping @Sendable (Value) throws -> [UInt8]
    ) {
        self.init(name, seeds: seeds) { bytes in
            guard let value = try? decode(bytes) else { return }
            try requireRoundTrip(of: value, decode: decode, encode: encode)
        }
    }

    /// Every decoder of foreign bytes in the package.
    package static let all: [ForeignDecoder] = wire + cursors + files + imports + json + databases
}

/// A decoder did not do with some bytes what it promises.
package struct BrokenPromise: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Throws `BrokenPromise` unless the value encodes to bytes that decode to the same value.
func requireRoundTrip<Value: Equatable>(
    of value: Value, decode: ([UInt8]) throws -> Value, encode: (Value) throws -> [UInt8]
) throws(BrokenPromise) {
    let written: [UInt8]
    do { written = try encode(value) } catch {
        throw BrokenPromise("what was decoded cannot be encoded: \(error)\n\(value)")
    }
    let again: Value
    do { again = try decode(written) } catch {
        throw BrokenPromise("what was encoded is refused: \(error)\n\(String(decoding: written, as: UTF8.self))")
    }
    guard again == value else { throw BrokenPromise("two values from one encoding:\n\(value)\n\(again)") }
    guard (try? encode(again)) == written else { throw BrokenPromise("two encodings of one value:\n\(value)") }
}
