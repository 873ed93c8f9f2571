import Foundation
import Testing

/// Rules of the house that the compiler does not know (STYLE, habits 15 and 16; DETERMINISM §4).
@Suite struct SourceRuleTests {
    struct Rule: Sendable, CustomTestStringConvertible {
        let what: String
        let pattern: String
        /// Files, by the beginning of their path, where it is the right thing, and why.
        let except: [String: String]

        var testDescription: String { what }
    }

    static let rules = [
        Rule(
            what: "no unstructured task but through EngineRuntime.spawn",
            pattern: #"\bTask(\.detached|\.immediate)?\s*(\(|\{)"#,
            except: ["Sources/SyncCore/Runtime/EngineRuntime.swift": "this is spawn"]),
        Rule(
            what: "no system clock outside the live runtime",
            pattern:
                #"\bTask\.sleep|\bDate\(\)|\bDate\.now\b|\bContinuousClock\(\)|\bSuspendingClock\(\)|\bDispatchTime\.now|\busleep\(|\bThread\.sleep"#,
            except: [
                "Sources/syncbench/": "it measures time",
                "Sources/SyncRuntimeLive/": "this is the live runtime",
            ]),
        Rule(
            what: "no global random source outside the live runtime",
            pattern:
                #"\bUUID\(\)|\bSystemRandomNumberGenerator\(\)|\.random\(in: [^,()]*(\([^()]*\)[^,()]*)*\)|\.shuffled\(\)|\.randomElement\(\)"#,
            except: [
                "Sources/syncbench/": "no two runs need be alike",
                "Sources/SyncRuntimeLive/": "this is the live runtime",
            ]),
        Rule(
            what: "no unchecked Sendable but in the lock and the executor shims",
            pattern: #"@unchecked|nonisolated\(unsafe\)"#,
            except: [
                "Sources/SyncConcurrency/Guarded.swift": "the one lock type",
                "Sources/SyncSimulation/Scheduling/": "the executor shims",
            ]),
        Rule(what: "no try! and no as!", pattern: #"\btry!|\bas!"#, except: [:]),
        Rule(what: "nothing left for later", pattern: "\\b(TO" + "DO|FIX" + "ME|XX" + "X)\\b", except: [:]),
        Rule(what: "no fatalError", pattern: #"\bfatalError\("#, except: [:]),
    ]

    @Test(arguments: rules)
    func `the sources keep the rule`(rule: Rule) throws {
        let pattern = try NSRegularExpression(pattern: rule.pattern)
        for file in try SourceTree.files() where !rule.except.keys.contains(where: file.path.hasPrefix) {
            for (index, line) in file.lines.enumerated() {
                let code = line.components(separatedBy: "//")[0]
                let range = NSRange(code.startIndex..., in: code)
                if pattern.firstMatch(in: code, range: range) != nil {
                    Issue.record(
                        "\(file.path):\(index + 1): \(rule.what): \(line.trimmingCharacters(in: .whitespaces))")
                }
            }
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
