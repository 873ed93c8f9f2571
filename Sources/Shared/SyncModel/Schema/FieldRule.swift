/// A rule for the values of a field beyond type and length, and the form in which they are written.
///
/// The rule is part of the schema, so that the client checks it before it writes and the server before it applies: both call
/// ``SchemaCatalog/rejection(of:)``. It must be deterministic and depend on the value alone.
///
///     .text("nickname", bytes: 1...64, rule: .name)
public struct FieldRule: Sendable {
    /// Tells rules apart: two rules of one name are the same rule.
    public let name: String
    /// Returns the form in which a value is written. Normalizing twice changes nothing.
    public let normalized: @Sendable (String) -> String
    /// Returns what is wrong with a value as the end of a sentence that begins with the field, or nil.
    public let problem: @Sendable (String) -> String?

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
    /// Returns a value in the form that the field's rule prescribes. Callers that take values from people and files apply it;
    /// the store and the server expect it.
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
    /// Returns the values in the forms that their fields' rules prescribe. Unknown fields stay as they are.
    public func normalized(_ patch: Patch) -> Patch {
        var result = patch
        for (name, value) in patch {
            if let field = field(named: name) { result.set(name, to: field.normalized(value)) }
        }
        return result
    }
}
