import Foundation
import Testing

/// Checks rules for the tests: each slow suite declares its ring, no test depends on the machine's speed, and the
/// tables of state machines are complete.
@Suite struct TestRuleTests {
    /// Targets whose suites use processes, sockets, or simulated worlds. Some of these suites are slow.
    static let slowTargets = ["BlackBoxTests", "SyncSimulationTests", "SyncTransportTests", "SyncctlTests"]

    @Test(arguments: slowTargets)
    func `every suite of a slow target declares its ring`(target: String) throws {
        let files = try SourceTree.tests().filter { $0.module == target }
        #expect(!files.isEmpty)
        for file in files {
            for line in Self.suitesWithoutRing(in: file.lines) {
                Issue.record("\(file.path):\(line): write @Suite(.ring(.unit)), or another ring")
            }
        }
    }

    @Test func `every form of a suite without a ring is detected`() {
        #expect(Self.suitesWithoutRing(in: ["@Suite struct ATests {", "    @Test func a() {}"]) == [1])
        #expect(Self.suitesWithoutRing(in: ["import Testing", "", "@Suite(.serialized)", "struct ATests {"]) == [3])
        #expect(Self.suitesWithoutRing(in: ["struct ATests {", "    @Test func a() {}", "}"]) == [1])
        #expect(Self.suitesWithoutRing(in: ["@Suite(.ring(.unit), .serialized)", "struct ATests {"]).isEmpty)
        #expect(Self.suitesWithoutRing(in: ["struct Sample {", "    let a: Int", "}"]).isEmpty)
    }

    /// Returns the line numbers at which suites without a ring begin.
    private static func suitesWithoutRing(in lines: [String]) -> [Int] {
        lines.indices.filter { index in
            let line = lines[index]
            if line.hasPrefix("@Suite") { return !line.contains(".ring(.") }
            // A type with tests is a suite even without the attribute.
            guard ["final ", "struct ", "class ", "actor "].contains(where: line.hasPrefix),
                line.range(of: #"^(final )?(struct|class|actor) \w+Tests\b"#, options: .regularExpression) != nil
            else { return false }
            return index == 0 || !lines[index - 1].hasPrefix("@Suite")
        }.map { $0 + 1 }
    }

    /// Path prefixes of files that may read the machine's clock or sleep, each with the reason why this does not change
    /// the result of a test.
    static let clocks = [
        "Tests/ArchitectureTests/": "they hold these words",
        "Tests/BlackBoxTests/Chaos/ChaosRun.swift": "prints how long it took",
        "Tests/BlackBoxTests/Chaos/WorkerThreads.swift": "faults strike for a while; no result is waited for",
        "Tests/BlackBoxTests/Checker/Testbed+Settling.swift": "a quiet time in which too much must not happen",
        "Tests/BlackBoxTests/Network/ProxyLoop.swift": "delays pieces",
        "Tests/BlackBoxTests/Processes/Child.swift": "processes tell nobody that they have ended",
        "Tests/BlackBoxTests/Processes/Device.swift": "kills a command at a random moment",
        "Tests/BlackBoxTests/Processes/ProcessTimeout.swift": "waits for the outside world",
        "Tests/BlackBoxTests/Scenarios/ClientScenarioTests.swift": "kills a command at a random moment",
        "Tests/BlackBoxTests/Scenarios/NetworkScenarioTests.swift":
            "a time in which too much must not happen; less happens on a slow machine",
        "Tests/ModelsTests/LiveWorld.swift": "the real engine's clock; nothing is timed",
        "Tests/SyncTransportTests/SyncServerTests.swift": "waits for a count that tells nobody of its changes",
        "Tests/SyncTransportTests/TestServer.swift": "the real client's clock; nothing is timed",
        "Tests/SyncWireTests/DecoderWorkTests.swift":
            "compares the processor times of two inputs; a quadratic step exceeds the bound on any machine",
        "Tests/TestRings/TestTimes.swift": "prints how long tests took",
    ]

    private static let clock =
        #"\bTask\.sleep|\bDate(\(\)|\.now\b)|\b(Continuous|Suspending)Clock(\(\)|\.now\b)|\bNIODeadline\.now\b|\bDispatchTime\.now|\bu?sleep\(|\bThread\.sleep|asyncAfter|\bclock_gettime\(|\bgettimeofday\("#

    @Test func `no test result depends on the machine's clock`() throws {
        let pattern = try NSRegularExpression.ofLines(Self.clock)
        for file in try SourceTree.tests() where !Self.clocks.keys.contains(where: file.path.hasPrefix) {
            // A sleep on the simulation's clock takes virtual time.
            for (number, line) in file.lines(matching: pattern) where !line.contains("clock.sleep(") {
                Issue.record("\(file.path):\(number): no test may depend on the machine's speed: \(line)")
            }
        }
    }

    @Test func `each exception of the clock rule is used`() throws {
        let files = try SourceTree.tests()
        let pattern = try NSRegularExpression.ofLines(Self.clock)
        for (place, reason) in Self.clocks {
            #expect(!reason.isEmpty)
            let isUsed = files.contains { file in
                file.path.hasPrefix(place) && !file.lines(matching: pattern).isEmpty
            }
            #expect(isUsed, "nothing in \(place) looks at the clock")
        }
    }

    /// The events of machines that their tables cannot show, each with the reason.
    private static let eventsWithoutRow = ["started": "it comes only once, as the first event of the link machine"]

    @Test(arguments: ["Hints", "Link", "Outbox", "Pull"])
    func `the table of a machine sends each of its events`(name: String) throws {
        let machine = try #require(
            try SourceTree.files().first { $0.path == "Sources/Client/SyncCore/\(name)/\(name)Machine.swift" })
        let table = try #require(
            try SourceTree.tests().first { $0.path == "Tests/SyncCoreTests/\(name)MachineTableTests.swift" })
        // Private functions are no events, and neither are those of nested types, which are indented further.
        let events = machine.lines.compactMap { line in
            line.firstMatch(of: /^ {4}(package )?mutating func ([A-Za-z]+)\(/).map { String($0.output.2) }
        }
        #expect(events.count > 4)
        for event in Set(events).sorted() where Self.eventsWithoutRow[event] == nil {
            #expect(table.text.contains(".\(event)("), "\(name)MachineTableTests does not send \(event)")
        }
    }
}
