/// A rule for the values of a field beyond its type and length, and the canonical form of those values.
///
/// The rule is part of the schema, so that the client checks it before it writes and the server before it applies: both
/// call ``SchemaCatalog/rejection(of:)``. A rule must be deterministic and depend on the value alone.
///
///     .text("nickname", bytes: 1...64, rule: .name)
public struct FieldRule: Sendable {
    /// The identity of the rule: two rules with the same name are equal.
    public let name: String
    /// Returns the canonical form of a value. Normalizing a value twice has the same result as normalizing it once.
    public let normalized: @Sendable (String) -> String
    /// Returns the problem with a value, or nil. The text completes a sentence that begins with the name of the field.
    public let problem: @Sendable (String) -> String?

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - name: the identity of the rule. Give another name to a rule that accepts other values.
    ///   - normalized: returns the canonical form of a value; by default, the value itself.
    ///   - problem: returns the end of a sentence that begins with the name of the field, or nil if the value is valid.
    public init(
        name: String, normalized: @escaping @Sendable (String) -> String = { $0 },
        problem: @escaping @Sendable (String) -> String?
    ) {
        self.name = name
        self.normalized = normalized
        self.problem = problem
    }
}

extension FieldRule: Hashable {
    public static func == (left: FieldRule, right: FieldRule) -> Bool { left.name == right.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension FieldSchema {
    /// Returns a value in the canonical form of the field's rule.
    ///
    /// Callers that accept values from people or files must normalize them. The store and the server expect normalized
    /// values.
    public func normalized(_ value: FieldValue) -> FieldValue {
        guard let rule else { return value }
        return switch value {
        case .text(let text): .text(rule.normalized(text))
        case .json(let text): .json(rule.normalized(text))
        case .null, .boolean, .integer, .real, .reference: value
        }
    }
}

extension ModelSchema {
    /// Returns the values in the canonical forms of their fields' rules. Unknown fields are not changed.
    public func normalized(_ patch: Patch) -> Patch {
        var result = patch
        for (name, value) in patch {
            if let field = field(named: name) { result.set(name, to: field.normalized(value)) }
        }
        return result
    }

    /// Returns the values of a new record: the given ones, and the defaults of the other fields. A field that is given
    /// as null stays empty.
    public func withDefaults(_ patch: Patch) -> Patch {
        var result = patch
        for field in fields where !field.defaultValue.isNull && patch[field.name] == nil {
            result.set(field.name, to: field.defaultValue)
        }
        return result
    }
}
