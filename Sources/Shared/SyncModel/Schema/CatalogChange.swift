/// The difference between the catalog with which a server's records were written and the one that is to be served now.
///
/// A server applies additions, and changes of limits, defaults, and rules, which hold for new writes. Every other
/// change is incompatible, because the server must still understand the records and the devices of the stored catalog.
public struct CatalogChange: Hashable, Sendable {
    /// The new collections and fields, as `collection` or `collection.field`.
    public private(set) var additions: [String] = []
    /// Other changes that apply, in words.
    public private(set) var adjustments: [String] = []
    /// The changes that cannot be applied, with what to do about each.
    public private(set) var conflicts: [Conflict] = []

    /// A change that cannot be applied.
    public struct Conflict: Hashable, Sendable {
        /// The collection or field: `todo.due`.
        public let name: String
        /// The problem, as a sentence that begins with the name.
        public let problem: String
        /// The advice to the person who changed the catalog, in the imperative.
        public let remedy: String
    }

    /// Whether the server can serve the new catalog over the stored records.
    public var isCompatible: Bool { conflicts.isEmpty }

    /// Compares two catalogs. The order of collections and fields does not matter.
    ///
    /// - Parameters:
    ///   - stored: the catalog with which the records were written.
    ///   - new: the catalog that is to be served.
    public init(from stored: SchemaCatalog, to new: SchemaCatalog) {
        for model in new.models where stored[model.collection] == nil { additions.append(model.collection.rawValue) }
        for old in stored.models {
            guard let model = new[old.collection] else {
                refuse(
                    old.collection.rawValue, "is stored, but is not in the catalog",
                    "keep the collection in the catalog, for the devices and records that still have it")
                continue
            }
            if model.deleteRule != old.deleteRule {
                adjustments.append("\(old.collection): deletes follow \(model.deleteRule.rawValue)")
            }
            compare(old, model)
        }
    }

    private mutating func compare(_ old: ModelSchema, _ new: ModelSchema) {
        for field in new.fields where old.field(named: field.name) == nil {
            let name = "\(new.collection).\(field.name)"
            if field.isRequired {
                refuse(
                    name, "is new and required, but stored records have no value for it",
                    "add it as an optional field, or as a field of a new collection")
            } else {
                additions.append(name)
            }
        }
        for stored in old.fields {
            let name = "\(old.collection).\(stored.name)"
            guard let field = new.field(named: stored.name) else {
                refuse(
                    name, "is stored, but is not in the catalog",
                    "keep the field in the catalog; the application does not have to use it")
                continue
            }
            compare(stored, field, name)
        }
    }

    private mutating func compare(_ old: FieldSchema, _ new: FieldSchema, _ name: String) {
        guard old.type == new.type else {
            refuse(
                name, "is stored as \(old.type.rawValue), but is \(new.type.rawValue) in the catalog",
                "add a field with another name for the new type")
            return
        }
        guard old.target == new.target else {
            refuse(
                name,
                "is stored as a reference to \(old.target?.rawValue ?? "nothing"), and refers to \(new.target?.rawValue ?? "nothing") in the catalog",
                "add a field with another name for the new target")
            return
        }
        if new.isRequired, !old.isRequired {
            refuse(name, "is stored as optional, but is required in the catalog", "do not require it")
        }
        if !new.isRequired, old.isRequired { adjustments.append("\(name) is optional") }
        if new.minimumBytes != old.minimumBytes || new.maximumBytes != old.maximumBytes {
            adjustments.append("\(name) has \(new.minimumBytes) to \(new.maximumBytes) bytes")
        }
        if new.rule != old.rule {
            adjustments.append("\(name) has \(new.rule.map { "the rule \($0.name)" } ?? "no rule")")
        }
        if new.bounds != old.bounds { adjustments.append("\(name) has \(new.bounds.map { "\($0)" } ?? "no bounds")") }
        if new.defaultValue != old.defaultValue {
            adjustments.append("\(name) has the default \(new.defaultValue.shortText)")
        }
        if new.isDate != old.isDate { adjustments.append("\(name) has \(new.isDate ? "dates" : "no dates")") }
        if new.mergeRule != old.mergeRule { adjustments.append("\(name) merges by \(new.mergeRule.rawValue)") }
    }

    private mutating func refuse(_ name: String, _ problem: String, _ remedy: String) {
        conflicts.append(Conflict(name: name, problem: "\(name) \(problem)", remedy: remedy))
    }
}
