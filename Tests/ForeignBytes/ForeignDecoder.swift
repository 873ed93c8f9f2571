/// A decoder of untrusted bytes, with the properties that must hold for any input.
///
/// The fuzzer and ordinary tests call the same decoders. No decoder may crash or hang for any input. The other
/// properties are in `check`.
package struct ForeignDecoder: Sendable {
    /// The name of the decoder on the fuzzer's command line and in its corpus folders.
    package let name: String
    /// Returns valid inputs, from which the fuzzer starts its search.
    package let seeds: @Sendable () throws -> [[UInt8]]
    /// Decodes the bytes and checks the properties.
    ///
    /// - Throws: `PropertyViolation`. Refusing the bytes is not a failure.
    package let check: @Sendable ([UInt8]) throws -> Void

    init(
        _ name: String, seeds: @escaping @Sendable () throws -> [[UInt8]],
        check: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.seeds = seeds
        self.check = check
    }

    /// Creates a decoder from a codec. A decoded value must encode to bytes that decode to an equal value, which must
    /// encode to the same bytes.
    init<Value: Equatable & SendableMetatype>(
        _ name: String, seeds: @escaping @Sendable () throws -> [[UInt8]],
        decode: @escaping @Sendable ([UInt8]) throws -> Value, encode: @escaping @Sendable (Value) throws -> [UInt8]
    ) {
        self.init(name, seeds: seeds) { bytes in
            guard let value = try? decode(bytes) else { return }
            try requireRoundTrip(of: value, decode: decode, encode: encode)
        }
    }

    /// Every decoder of untrusted bytes in the package.
    package static let all: [ForeignDecoder] = wire + cursors + files + imports + json + databases
}

/// The error that a check throws when a decoder violates a required property for some input.
package struct PropertyViolation: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Throws `PropertyViolation` unless the value encodes to bytes that decode to an equal value, which encodes to the
/// same bytes.
func requireRoundTrip<Value: Equatable>(
    of value: Value, decode: ([UInt8]) throws -> Value, encode: (Value) throws -> [UInt8]
) throws(PropertyViolation) {
    let written: [UInt8]
    do { written = try encode(value) } catch {
        throw PropertyViolation("what was decoded cannot be encoded: \(error)\n\(value)")
    }
    let again: Value
    do { again = try decode(written) } catch {
        throw PropertyViolation("what was encoded is refused: \(error)\n\(String(decoding: written, as: UTF8.self))")
    }
    guard again == value else { throw PropertyViolation("two values from one encoding:\n\(value)\n\(again)") }
    guard (try? encode(again)) == written else { throw PropertyViolation("two encodings of one value:\n\(value)") }
}
