import Foundation
import Testing

/// Checks rules for the sources that the compiler cannot check.
@Suite struct SourceRuleTests {
    struct Rule: Sendable, CustomTestStringConvertible {
        let title: String
        let pattern: String
        /// Lines that break the rule, at least one for each construct that it forbids.
        let samples: [String]
        /// Similar lines that are allowed.
        var harmless: [String] = []
        /// The path prefixes of the files that are exempt from the rule, each with the reason.
        let except: [String: String]

        var testDescription: String { title }
    }

    static let rules = [
        Rule(
            title: "no unstructured task outside EngineRuntime.spawn",
            // The type of a result or a property may stand before a brace, too.
            pattern:
                #"\bTask(<[^<>(){}]*>)?(\.init|\.detached|\.immediate(Detached)?)?\s*\(|\bTask(\.init|\.detached|\.immediate(Detached)?)?\s*\{|(?<!-> |: )\bTask<[^<>(){}]*>(\.init|\.detached|\.immediate(Detached)?)?\s*\{"#,
            samples: [
                "Task { }", "Task.detached { }", "Task.immediate { }", "Task.immediateDetached { }",
                "Task(priority: .low) { }", "Task.init { }", "Task<Void, Never> { }",
                "Task<Int, any Error>.detached { }",
            ],
            harmless: [
                "group.addTask { }", "Task.isCancelled", "Task<Void, Never>", "func end(_ task: Task<Void, Never>) {",
                "func start() -> Task<Void, Never> {", "var task: Task<Void, Never> {",
            ],
            except: ["Sources/Client/SyncCore/Runtime/EngineRuntime.swift": "this is spawn"]),
        Rule(
            title: "no system clock outside the live runtime",
            pattern:
                #"\bTask\.sleep|\bDate(\(\)|\.now\b)|\b(Continuous|Suspending)Clock(\(\)|\.now\b)|\bDispatchTime\.now|\busleep\(|\bThread\.sleep|\bclock_gettime\(|\bgettimeofday\("#,
            samples: [
                "try await Task.sleep(for: wait)", "let now = Date()", "let now = Date.now", "ContinuousClock()",
                "ContinuousClock.now", "SuspendingClock()", "SuspendingClock.now", "DispatchTime.now()",
                "usleep(1_000)", "Thread.sleep(forTimeInterval: 1)", "clock_gettime(CLOCK_REALTIME, &time)",
                "gettimeofday(&time, nil)",
            ],
            harmless: ["Date(timeIntervalSince1970: 0)", "any Clock<Duration>", "NIODeadline.now()"],
            except: [
                "Sources/Programs/syncbench/": "it measures time",
                "Sources/Shared/SyncRuntimeLive/": "this is the live runtime",
                "Sources/Shared/SQLiteDatabase/WAL/WALFile.swift":
                    "it compares the times of a file and of the system's start, both real",
            ]),
        Rule(
            title: "no global random source outside the live runtime",
            pattern:
                #"\bUUID\(\)|\bSystemRandomNumberGenerator\(\)|\.random\(in: [^,()]*(\([^()]*\)[^,()]*)*\)|\.shuffled\(\)|\.randomElement\(\)"#,
            samples: [
                "UUID()", "SystemRandomNumberGenerator()", "Int.random(in: 0...3)", "Int.random(in: 0..<(a + b))",
                "list.shuffled()", "list.randomElement()",
            ],
            harmless: ["UUID(uuid: bytes)", "Int.random(in: 0...3, using: &random)", "list.shuffled(using: &random)"],
            except: [
                "Sources/Programs/syncbench/": "its runs need not be repeatable",
                "Sources/Shared/SyncRuntimeLive/": "this is the live runtime",
            ]),
        Rule(
            title: "no unchecked Sendable outside the lock",
            pattern: #"@unchecked|nonisolated\(unsafe\)"#,
            samples: ["final class A: @unchecked Sendable {", "nonisolated(unsafe) var a = 0"],
            harmless: ["nonisolated var a: Int { 0 }"],
            except: [
                "Sources/Shared/SyncConcurrency/Guarded.swift": "the one lock type"
            ]),
        Rule(
            title: "no try! and no as!", pattern: #"\btry!|\bas!"#, samples: ["try! go()", "a as! Int"],
            harmless: ["try? go()", "a as? Int"], except: [:]),
        Rule(
            title: "no mark of unfinished work", pattern: "\\b(TO" + "DO|FIX" + "ME|XX" + "X)\\b",
            samples: ["TO" + "DO: more", "FIX" + "ME", "XX" + "X"], except: [:]),
        Rule(
            title: "no fatalError", pattern: #"\bfatalError\("#, samples: ["fatalError(\"no\")"], except: [:]),
    ]

    @Test(arguments: rules)
    func `a rule matches only the lines that it forbids`(rule: Rule) throws {
        let pattern = try NSRegularExpression.ofLines(rule.pattern)
        #expect(!rule.samples.isEmpty)
        for line in rule.samples { #expect(pattern.matches(line), "\(line)") }
        for line in rule.harmless { #expect(!pattern.matches(line), "\(line)") }
    }

    @Test(arguments: rules)
    func `each exception of a rule is used`(rule: Rule) throws {
        let pattern = try NSRegularExpression.ofLines(rule.pattern)
        let files = try SourceTree.files()
        for (place, reason) in rule.except {
            #expect(!reason.isEmpty)
            let isUsed = files.contains { file in
                file.path.hasPrefix(place) && !file.lines(matching: pattern).isEmpty
            }
            #expect(isUsed, "no line in \(place) needs the exception")
        }
    }

    @Test(arguments: rules)
    func `the sources follow each rule`(rule: Rule) throws {
        let pattern = try NSRegularExpression.ofLines(rule.pattern)
        for file in try SourceTree.files() where !rule.except.keys.contains(where: file.path.hasPrefix) {
            for (number, line) in file.lines(matching: pattern) {
                guard pattern.matches(Self.code(of: line)) else { continue }
                Issue.record("\(file.path):\(number): \(rule.title): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
    }

    /// Returns a line of source without its comment. Two slashes inside a string, as in a URL, begin no comment.
    private static func code(of line: String) -> String {
        var isInString = false
        var previous: Character?
        for (index, character) in zip(line.indices, line) {
            if character == "\"", previous != "\\" { isInString.toggle() }
            if character == "/", previous == "/", !isInString { return String(line[..<line.index(before: index)]) }
            previous = character == "\\" && previous == "\\" ? nil : character
        }
        return line
    }

    @Test func `code after a URL in a string is searched, and comments are not`() {
        #expect(Self.code(of: "try! open(1) // try! open(2)") == "try! open(1) ")
        #expect(Self.code(of: #"load("https://a") ; try! go() // more"#) == #"load("https://a") ; try! go() "#)
        #expect(Self.code(of: #"print("\"//") // no"#) == #"print("\"//") "#)
        #expect(Self.code(of: #"print("\\") // no"#) == #"print("\\") "#)
        #expect(Self.code(of: "/// A summary") == "")
    }

    @Test func `the code map lists every target`() throws {
        let map = try String(contentsOf: SourceTree.root.appending(path: "ARCHITECTURE.md"), encoding: .utf8)
        let sides = try SourceTree.folders(in: "Sources")
        #expect(sides == ["Client", "Programs", "Root", "Server", "Shared", "Testing"])
        let targets = try sides.flatMap { side in
            try SourceTree.folders(in: "Sources/\(side)").map { "Sources/\(side)/\($0)" }
        }
        #expect(targets.count > 20)
        for target in targets { #expect(map.contains("`\(target)`"), "\(target)") }
    }

    @Test func `each file that the code map names exists`() throws {
        let map = try String(contentsOf: SourceTree.root.appending(path: "ARCHITECTURE.md"), encoding: .utf8)
        let paths = try (SourceTree.files() + SourceTree.tests()).map { "/\($0.path)" }
        let named = map.matches(of: /[A-Za-z0-9_\/+]+\.swift/).map { String($0.output) }
        #expect(named.count > 20)
        for name in Set(named).sorted() where name != "Package.swift" {
            #expect(paths.contains { $0.hasSuffix("/\(name)") }, "\(name)")
        }
    }

    @Test func `folders are named by domain, never by kind`() throws {
        let forbidden: Set<String> = ["Protocols", "Utils", "Utilities", "Helpers", "Common", "Extensions", "Misc"]
        for file in try SourceTree.files() {
            let folders = file.path.split(separator: "/").map(String.init)
            #expect(forbidden.isDisjoint(with: folders), "\(file.path)")
        }
    }
}
