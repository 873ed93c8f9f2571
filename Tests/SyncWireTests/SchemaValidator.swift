import SyncJSON

/// A validator for the part of JSON Schema that the OpenAPI document uses. It reports a keyword that it does not know.
///
/// Only the annotations `description`, `examples`, and `format` have no effect: the one format of numbers is `int64`,
/// which is the type of every integer that is read here.
struct SchemaValidator {
    let document: JSONValue

    func problems(with value: JSONValue, schema name: String) -> [String] {
        guard let schema = document["components"]?["schemas"]?[name] else { return ["there is no schema \(name)"] }
        return problems(with: value, schema, at: name)
    }

    var paths: [String] {
        guard case .object(let members)? = document["paths"] else { return [] }
        return members.map(\.key).sorted()
    }

    func examples(of name: String) -> [String] {
        guard case .array(let values)? = document["components"]?["schemas"]?[name]?["examples"] else { return [] }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    var danglingReferences: [String] {
        references(in: document).filter { resolve($0) == nil }
    }

    private func references(in value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            return members.flatMap { member -> [String] in
                if member.key == "$ref", case .string(let target) = member.value { return [target] }
                return references(in: member.value)
            }
        case .array(let values): return values.flatMap(references)
        default: return []
        }
    }

    private func resolve(_ reference: String) -> JSONValue? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(Optional(document)) { $0?[String($1)] }
    }

    private func problems(with value: JSONValue, _ schema: JSONValue, at path: String) -> [String] {
        let unknown = Self.unknownKeywords(of: schema)
        guard unknown.isEmpty else { return ["\(path): the validator does not know \(unknown)"] }
        if case .string(let reference)? = schema["$ref"] {
            guard let target = resolve(reference) else { return ["\(path): dangling \(reference)"] }
            return problems(with: value, target, at: path)
        }
        if case .array(let choices)? = schema["oneOf"] {
            let results = choices.map { problems(with: value, $0, at: path) }
            let fitting = results.filter(\.isEmpty).count
            return fitting == 1 ? [] : ["\(path): \(fitting) of \(choices.count) choices fit: \(results)"]
        }
        if let constant = schema["const"], constant != value { return ["\(path): expected \(constant)"] }
        guard case .string(let type)? = schema["type"] else { return [] }
        switch (type, value) {
        case ("object", .object(let members)): return problems(with: members, schema, at: path)
        case ("array", .array(let values)): return problems(with: values, schema, at: path)
        case ("integer", .integer(let number)):
            if case .integer(let minimum)? = schema["minimum"], number < minimum {
                return ["\(path): below \(minimum)"]
            }
            if case .integer(let maximum)? = schema["maximum"], number > maximum {
                return ["\(path): above \(maximum)"]
            }
            return []
        case ("string", .string(let text)): return problems(with: text, schema, at: path)
        case ("boolean", .boolean), ("number", .real), ("number", .integer), ("null", .null):
            return []
        default: return ["\(path): another type than \(type)"]
        }
    }

    private static let keywords: Set<String> = [
        "$ref", "oneOf", "const", "type", "minimum", "maximum", "pattern", "maxLength", "properties", "required",
        "additionalProperties", "propertyNames", "maxProperties", "items", "prefixItems", "maxItems", "description",
        "examples", "format",
    ]

    private static func unknownKeywords(of schema: JSONValue) -> [String] {
        guard case .object(let members) = schema else { return [] }
        return members.map(\.key).filter { !keywords.contains($0) }
    }

    /// Returns a problem if there are more than the schema's limit of this name.
    private func excess(_ count: Int, _ schema: JSONValue, _ limit: String, at path: String) -> [String] {
        guard case .integer(let maximum)? = schema[limit], count > maximum else { return [] }
        return ["\(path): \(count) is more than the \(limit) of \(maximum)"]
    }

    private func problems(with text: String, _ schema: JSONValue, at path: String) -> [String] {
        var result = excess(text.unicodeScalars.count, schema, "maxLength", at: path)
        if case .string(let pattern)? = schema["pattern"] {
            guard let regex = try? Regex(pattern) else { return ["\(path): the pattern \(pattern) is invalid"] }
            if text.firstMatch(of: regex) == nil { result.append("\(path): '\(text)' does not match \(pattern)") }
        }
        return result
    }

    private func problems(with members: [JSONValue.Member], _ schema: JSONValue, at path: String) -> [String] {
        var result = excess(members.count, schema, "maxProperties", at: path)
        if case .array(let required)? = schema["required"] {
            for case .string(let name) in required where !members.contains(where: { $0.key == name }) {
                result.append("\(path).\(name) is missing")
            }
        }
        for member in members {
            let place = "\(path).\(member.key)"
            if let names = schema["propertyNames"] { result += problems(with: .string(member.key), names, at: place) }
            if let known = schema["properties"]?[member.key] {
                result += problems(with: member.value, known, at: place)
            } else if let other = schema["additionalProperties"] {
                result +=
                    other == .boolean(false)
                    ? ["\(place) is not described"] : problems(with: member.value, other, at: place)
            } else {
                result.append("\(place) is not described")
            }
        }
        return result
    }

    private func problems(with values: [JSONValue], _ schema: JSONValue, at path: String) -> [String] {
        var result = excess(values.count, schema, "maxItems", at: path)
        var prefix: [JSONValue] = []
        if case .array(let schemas)? = schema["prefixItems"] { prefix = schemas }
        for (index, value) in values.enumerated() {
            let place = "\(path)[\(index)]"
            if index < prefix.count {
                result += problems(with: value, prefix[index], at: place)
            } else if let items = schema["items"] {
                result += problems(with: value, items, at: place)
            }
        }
        return result
    }
}
