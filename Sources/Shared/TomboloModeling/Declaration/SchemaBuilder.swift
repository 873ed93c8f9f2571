import SyncConcurrency
import SyncModel

/// Collects the fields of one model while its initializer runs.
///
/// The builder is a task-local value while the initializer runs, so that `Field<String>("title")` needs no other
/// argument. See the decision record "Models are shapes".
final class SchemaBuilder: Sendable {
    @TaskLocal static var current: SchemaBuilder?

    private let declarations = Guarded<[FieldDeclaration]>([])

    /// Runs the initializer of a model.
    static func collect<M: Model>(_ type: M.Type) -> (shape: M, declarations: [FieldDeclaration]) {
        let builder = SchemaBuilder()
        let shape = $current.withValue(builder) { M() }
        return (shape, builder.declarations.withLock { $0 })
    }

    /// Adds a field to the model whose initializer is running.
    static func register(_ declaration: FieldDeclaration) -> FieldKey {
        // `ModelShape` reports an invalid name, so no store ever sees it.
        let name = FieldName(rawValue: declaration.name) ?? FieldName(unchecked: declaration.name)
        guard let current else { return FieldKey(slot: -1, name: name) }
        let slot = current.declarations.withLock { declarations in
            declarations.append(declaration)
            return declarations.count - 1
        }
        return FieldKey(slot: slot, name: name)
    }
}

/// A field as its model declares it.
struct FieldDeclaration: Sendable {
    let name: String
    let type: FieldType
    /// Whether the integers are dates.
    let isDate: Bool
    /// For a reference: the model to which it refers.
    let target: (any Model.Type)?
    let settings: [FieldSetting]
    let defaultValue: FieldValue
    /// Why the default cannot be stored; nil if it can.
    let defaultProblem: String?
}
