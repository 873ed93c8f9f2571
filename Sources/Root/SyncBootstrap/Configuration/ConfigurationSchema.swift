/// The JSON Schema of the configuration file, generated from the keys.
///
/// `Schemas/config/configuration.schema.json` contains this text. A test fails when they differ.
public enum ConfigurationSchema {
    /// The JSON Schema (draft 2020-12), with a trailing newline.
    public static var text: String {
        let root = Node(members: tree(of: ConfigurationKeys.all))
        return """
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "title": "Configuration of Tombolo's programs",
              "description": "Flags win over environment variables, which win over this file, which wins over defaults.",
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "$schema": { "type": "string" },
            \(render(root.members, indent: 4))
              }
            }

            """
    }

    private final class Node {
        var members: [(name: String, value: Value)]
        init(members: [(name: String, value: Value)]) { self.members = members }
    }

    private enum Value {
        case key(KeyDescription)
        case group(Node)
    }

    /// Groups keys with the same first word into one object. No name has more than one dot.
    private static func tree(of keys: [KeyDescription]) -> [(name: String, value: Value)] {
        var members: [(name: String, value: Value)] = []
        for key in keys {
            let parts = key.name.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                members.append((key.name, .key(key)))
                continue
            }
            if let index = members.firstIndex(where: { $0.name == parts[0] }),
                case .group(let node) = members[index].value
            {
                node.members.append((parts[1], .key(key)))
            } else {
                members.append((parts[0], .group(Node(members: [(parts[1], .key(key))]))))
            }
        }
        return members
    }

    private static func render(_ members: [(name: String, value: Value)], indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        return members.map { name, value in
            switch value {
            case .key(let key): margin + quoted(name) + ": " + object(property(key), indent: indent)
            case .group(let node):
                """
                \(margin)\(quoted(name)): {
                \(margin)  "type": "object",
                \(margin)  "additionalProperties": false,
                \(margin)  "properties": {
                \(render(node.members, indent: indent + 4))
                \(margin)  }
                \(margin)}
                """
            }
        }.joined(separator: ",\n")
    }

    private static func property(_ key: KeyDescription) -> [(String, String)] {
        var parts = [("description", quoted(key.meaning)), ("type", quoted(key.kind.jsonType))]
        switch key.kind {
        case .text, .path, .boolean: break
        case .url: parts.append(("format", quoted("uri")))
        case .choice(let words): parts.append(("enum", "[" + words.map(quoted).joined(separator: ", ") + "]"))
        case .integer(let range, let unit):
            parts[0].1 = quoted(key.meaning + " Unit: " + unit + ".")
            parts += [("minimum", "\(range.lowerBound)"), ("maximum", "\(range.upperBound)")]
        case .duration:
            parts[0].1 = quoted(key.meaning + " Expected: " + key.kind.expectation + ".")
            parts.append(("pattern", quoted("^[0-9]+(ms|s|m|h|d)$")))
        }
        if case .fixed(let text) = key.defaultValue {
            parts.append(("default", key.kind.jsonType == "string" ? quoted(text) : text))
        }
        return parts
    }

    private static func object(_ parts: [(String, String)], indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        return "{\n" + parts.map { "\(margin)  \(quoted($0.0)): \($0.1)" }.joined(separator: ",\n") + "\n\(margin)}"
    }

    /// Quotes a text of a key. In these texts, only quotation marks and backslashes need escaping.
    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
}
