import Foundation
import Testing

/// Checks the rules for the wording of comments and names.
@Suite struct WordRuleTests {
    @Test func `no comment starts with a clause as its subject`() throws {
        let pattern = try NSRegularExpression.ofLines(#"^\s*//[/]?\s+(- \w+: )?(Who|What|Whose)\s"#)
        var places: [String] = []
        for file in try SourceTree.files() + SourceTree.tests() {
            for (number, line) in file.lines(matching: pattern) {
                places.append("\(file.path):\(number): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
        #expect(
            places.isEmpty,
            "\(places.count) comments open with Who, What or Whose; write the actor first: \(places.prefix(5))")
    }

    /// Coined words, with the established term to use instead.
    private static let coinages = [
        "MutationNumber": "TransactionNumber", "ModelLimits": "SchemaLimits", "ModelsLimits": "CommunityLimits",
        "Turnstile": "AsyncMutex", "ActorHome": "ActorExecutor", "CoalescingFeed": "Broadcast",
        "Sighting": "LookupResult",
        "greet": "sendHello", "greeted": "helloEnded", "greeting": "hello", "heed": "respond",
        "glance": "observedState",
        "giveWay": "redirect", "owesCut": "needsTruncation", "buryIfDead": "endIfDead", "deed": "operation",
        "deeds": "operations", "crowd": "burst", "crowds": "bursts", "town": "testbed", "weather": "conditions",
        "scribe": "writer", "duel": "comparison", "dawn": "startTime", "anew": "again", "for ever": "forever",
        "islander": "customer", "patience": "timeout", "resend": "restore", "Lab": "Testbed", "lab": "testbed",
        "owed": "unconfirmed", "canceled": "cancelled", "canceling": "cancelling",
        "harbour": "a name for what it holds", "SealedCursor": "PresentedCursor",
        "HistoryChain": "HistoryFingerprint",
        "Conduct": "Oracle", "groupsOfReferences": "referenceGroups", "deletedUnseen": "hiddenFromDeleter",
    ]

    @Test func `no coined word is used in place of an established term`() throws {
        let words = Self.coinages.keys.sorted().joined(separator: "|")
        let pattern = try NSRegularExpression.ofLines(#"\b(\#(words))\b"#)
        let rule = "Tests/ArchitectureTests/WordRuleTests.swift"
        var places: [String] = []
        for file in try SourceTree.files() + SourceTree.tests() where !file.path.hasSuffix(rule) {
            for (number, line) in file.lines(matching: pattern) {
                let whole = NSRange(line.startIndex..., in: line)
                guard let match = pattern.firstMatch(in: line, range: whole), let range = Range(match.range, in: line)
                else { continue }
                let word = String(line[range])
                places.append("\(file.path):\(number): \(word); write \(Self.coinages[word] ?? "another word")")
            }
        }
        #expect(places.isEmpty, "\(places.count) coinages: \(places.prefix(5))")
    }

    @Test func `no line of a comment is longer than a line of code`() throws {
        var places: [String] = []
        for file in try SourceTree.files() + SourceTree.tests() {
            for (number, line) in file.lines.enumerated()
            where line.count > 120 && line.drop(while: { $0 == " " }).hasPrefix("//") && !line.contains("http") {
                places.append("\(file.path):\(number + 1)")
            }
        }
        #expect(places.isEmpty, "\(places.count) comments are longer than 120 columns: \(places.prefix(5))")
    }

    /// Phrases in messages, with the form to use instead.
    private static let phrases = [
        #"(?<!there) is no (?!longer\b|older\b|smaller\b|more\b|less\b)"#: "is not a valid …",
        #"[,;] [^,;"\n]*(?<!is) expected""#: "expected …, found …",
        #"\bCheck\("(what|who|whoever) "#: "the actor first",
    ]

    @Test func `messages use the field's phrases`() throws {
        var places: [String] = []
        for (phrase, form) in Self.phrases {
            let pattern = try NSRegularExpression.ofLines(
                phrase.hasPrefix(#"\b"#) ? phrase : #""[^"\n]*"# + phrase)
            for file in try SourceTree.files() {
                for (number, line) in file.lines(matching: pattern)
                where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    places.append("\(file.path):\(number): write \(form)")
                }
            }
        }
        #expect(places.isEmpty, "\(places.count) messages: \(places.prefix(5))")
    }
}
