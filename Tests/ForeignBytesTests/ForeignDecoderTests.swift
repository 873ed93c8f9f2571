import ForeignBytes
import TestRings
import Testing

/// A slice, for every run of the tests, of the search that the fuzzer makes for hours.
@Suite struct ForeignDecoderTests {
    static let names = ForeignDecoder.all.map(\.name)

    private static func decoder(_ name: String) throws -> ForeignDecoder {
        try #require(ForeignDecoder.all.first { $0.name == name })
    }

    @Test func `each decoder has a name of its own`() {
        #expect(Set(Self.names).count == Self.names.count)
        #expect(Self.names.count >= 29)
    }

    @Test(arguments: names)
    func `a decoder keeps its promises for good bytes, and for those bytes changed blindly`(name: String) throws {
        let decoder = try Self.decoder(name)
        let seeds = try decoder.seeds()
        #expect(!seeds.isEmpty)
        for seed in seeds { try decoder.check(seed) }
        var mutation = Mutation(seed: 42)
        let rounds = ["database", "salvage"].contains(name) ? 20 : 400
        for round in 0..<rounds {
            let bytes = mutation.changed(seeds[round % seeds.count], beside: seeds[round / 3 % seeds.count])
            do {
                try decoder.check(bytes)
            } catch {
                Issue.record("\(error)\nfor the bytes \(bytes)")
                return
            }
        }
    }

    /// Kept from runs of the fuzzer; each broke a promise once.
    static let found: [FoundInput] = []
}

/// Bytes that a run of the fuzzer has found.
struct FoundInput: Sendable, CustomTestStringConvertible {
    let decoder: String
    let bytes: [UInt8]
    /// The promise that they broke.
    let testDescription: String
}
