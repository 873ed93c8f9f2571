public import SyncModel

/// A declaration of one kind of record.
///
/// A model is a *shape*: its properties describe fields, and hold no values. The shape is the only declaration. The
/// table in the local database, the schema on the wire, the properties of live objects, and typed queries follow from
/// it.
///
/// ```swift
/// struct Todo: Model {
///     static let collection = "todo"
///     let title = Field<String>("title", .required, .length(1...200))
///     let isDone = Field<Bool>("is_done", default: false)
///     let due = Field<Date?>("due", .indexed)
///     let owner = Reference<Person>("owner")
/// }
/// ```
///
/// Each name is the name on the wire and in the database, so renaming a Swift property changes nothing. Names consist
/// of lower-case letters, digits, and underscores. A new field may stand anywhere in the declaration.
///
/// The fields register themselves, in the order of the properties, when a client or server runs `init()` at its start.
/// Errors in a declaration are thrown then, as ``ModelDeclarationError``. A field must therefore be a stored property.
public protocol Model: Sendable {
    /// The name of the collection on the wire and in the database.
    static var collection: String { get }

    /// The outcome of a delete that has not seen the latest edits of its record. The default is `deleteWins`.
    static var deleteRule: DeleteRule { get }

    /// Creates the shape of the model. In a public model, this initializer is public.
    init()
}

extension Model {
    public static var deleteRule: DeleteRule { .deleteWins }

    /// A field of this model with a value of the given type.
    public typealias Field<Value: ModelValue> = ModelField<Self, Value>

    /// A field of this model that refers to a record of another model.
    public typealias Reference<Other: Model> = ModelReference<Self, Other>
}
