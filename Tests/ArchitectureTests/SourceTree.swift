import Foundation

/// The sources of the package as text, found relative to this file.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File {
        /// The target that the file belongs to.
        let module: String
        /// The path of the file, relative to the root of the package.
        let path: String
        let text: String
        let lines: [String]
        /// The modules that the file imports, with their line numbers.
        let imports: [(module: String, line: Int)]

        init(module: String, path: String, text: String) {
            self.module = module
            self.path = path
            self.text = text
            lines = text.components(separatedBy: "\n")
            imports = Self.imports(in: lines)
        }

        /// Returns the lines that match a pattern, with their numbers.
        func lines(matching pattern: NSRegularExpression) -> [(number: Int, text: String)] {
            // Most files have no match, and one search of the whole text is faster than a search of each line.
            guard pattern.matches(text) else { return [] }
            return lines.enumerated().filter { pattern.matches($0.element) }.map { ($0.offset + 1, $0.element) }
        }

        private static func imports(in lines: [String]) -> [(module: String, line: Int)] {
            lines.enumerated().compactMap { index, line in
                var words = line.split(separator: " ").map(String.init)[...]
                while let word = words.first, Self.modifiers.contains(word) || word.hasPrefix("@") {
                    words = words.dropFirst()
                }
                guard words.first == "import" else { return nil }
                words = words.dropFirst()
                if let kind = words.first, Self.kinds.contains(kind) { words = words.dropFirst() }
                guard let name = words.first?.split(separator: ".").first else { return nil }
                return (String(name), index + 1)
            }
        }

        private static let modifiers: Set<String> = [
            "public", "package", "internal", "fileprivate", "private", "@_exported",
        ]
        private static let kinds: Set<String> = [
            "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
        ]
    }

    /// Returns all Swift files below `Sources` and `Schemas`.
    static func files() throws -> [File] { try sources.get() }

    /// Returns the names of the folders directly in a folder, sorted.
    static func folders(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: path).path(percentEncoded: false)
        ).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Returns all Swift files below `Tests`.
    static func tests() throws -> [File] { try ofTests.get() }

    // The files are read only once, because several rules use all of them.
    private static let sources = Result {
        try swiftFiles(below: "Sources").map { path in
            try file(path, module: String(path.split(separator: "/")[2]))
        }
            + swiftFiles(below: "Schemas").map { try file($0, module: "Schemas") }
    }

    private static let ofTests = Result {
        try swiftFiles(below: "Tests").map { path in
            try file(path, module: String(path.split(separator: "/")[1]))
        }
    }

    /// Returns the names of all tests that are declared with a sentence in backticks.
    static func testNames() throws -> Set<String> { try names.get() }

    private static let names = Result {
        var names: Set<String> = []
        for line in try tests().lazy.flatMap(\.lines) {
            let words = line.split(separator: "`", omittingEmptySubsequences: false)
            if words.count == 3, words[0].hasSuffix("func ") { names.insert(String(words[1])) }
        }
        return names
    }

    private static func swiftFiles(below folder: String) throws -> [String] {
        let base = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil) else { return [] }
        return walk.compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" }
            .map { folder + $0.path(percentEncoded: false).dropFirst(base.path(percentEncoded: false).count) }
            .map { $0.replacingOccurrences(of: "//", with: "/") }
            .sorted()
    }

    private static func file(_ path: String, module: String) throws -> File {
        File(
            module: module, path: path,
            text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
    }
}

extension NSRegularExpression {
    /// Creates a pattern whose `^` and `$` match at the start and end of each line.
    static func ofLines(_ pattern: String) throws -> NSRegularExpression {
        try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
    }

    func matches(_ text: String) -> Bool {
        firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }
}
