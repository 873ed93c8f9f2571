import TestRings
import Testing

@testable import ForeignBytes

/// Runs a short version of the fuzzer's search in every test run.
@Suite struct ForeignDecoderTests {
    static let names = ForeignDecoder.all.map(\.name)

    private static func decoder(_ name: String) throws -> ForeignDecoder {
        try #require(ForeignDecoder.all.first { $0.name == name })
    }

    @Test func `the names of decoders are unique`() {
        #expect(Set(Self.names).count == Self.names.count)
        #expect(Self.names.count >= 29)
    }

    @Test(.ring(.test), arguments: names)
    func `a decoder has its required properties for valid and for randomly changed inputs`(name: String) throws {
        let decoder = try Self.decoder(name)
        let seeds = try decoder.seeds()
        #expect(!seeds.isEmpty)
        for seed in seeds { try decoder.check(seed) }
        var mutator = InputMutator(seed: 42)
        let isSlow = ["database", "salvage"].contains(name)
        let rounds = TestRing.sample(40, 2_000) / (isSlow ? 20 : 1)
        for round in 0..<rounds {
            let bytes = mutator.changed(seeds[round % seeds.count], beside: seeds[round / 3 % seeds.count])
            do {
                try decoder.check(bytes)
            } catch {
                Issue.record("\(error)\nfor the bytes \(bytes)")
                return
            }
        }
    }

    /// A codec with a planted bug.
    struct Planted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let decode: @Sendable ([UInt8]) throws -> [UInt8]
        let encode: @Sendable ([UInt8]) throws -> [UInt8]
    }

    struct Refusal: Error {}

    static let planted = [
        Planted(testDescription: "forgets a byte", decode: { $0 }, encode: { $0.dropLast() }),
        Planted(
            testDescription: "refuses its own bytes", decode: { $0[0] == 1 ? $0 : try fail() }, encode: { _ in [2] }),
        Planted(testDescription: "cannot encode", decode: { $0 }, encode: { _ in try fail() }),
    ]

    private static func fail() throws -> [UInt8] { throw Refusal() }

    @Test(arguments: planted)
    func `a codec that lacks its required property is detected`(planted: Planted) throws {
        let decoder = ForeignDecoder("planted", seeds: { [] }, decode: planted.decode, encode: planted.encode)
        #expect(throws: PropertyViolation.self) { try decoder.check([1, 2, 3]) }
    }

    @Test func `a decoder that refuses an input has its required property`() throws {
        let decoder = ForeignDecoder(
            "planted", seeds: { [] }, decode: { (_: [UInt8]) in try Self.fail() }, encode: { $0 })
        try decoder.check([1, 2, 3])
    }
}
