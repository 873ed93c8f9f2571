import Foundation
import Testing

/// How comments are written: the actor first, then the verb.
@Suite struct WordRuleTests {
    @Test func `no comment opens with a clause as its subject`() throws {
        let pattern = try NSRegularExpression(pattern: #"^\s*//[/]?\s+(- \w+: )?(Who|What|Whose)\s"#)
        var places: [String] = []
        for file in try SourceTree.files() + SourceTree.tests() {
            for (index, line) in file.lines.enumerated()
            where pattern.firstMatch(in: line, range: NSRange(line.startIndex..., in: line)) != nil {
                places.append("\(file.path):\(index + 1): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
        #expect(
            places.isEmpty,
            "\(places.count) comments open with Who, What or Whose; write the actor first: \(places.prefix(5))")
    }
}
