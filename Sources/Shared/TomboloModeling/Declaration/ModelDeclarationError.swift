/// An error in the declaration of a model. Thrown when a client or server opens, or when a query uses the field. An
/// error in the values of a query is also reported this way.
public struct ModelDeclarationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for code that handles it.
    public let code: Code
    /// The collection whose declaration has the error.
    public let collection: String
    /// The name of the field; nil if the error concerns the whole model.
    public let field: String?
    /// Says what is wrong, what was expected, and what to do.
    public let message: String

    package init(_ code: Code, collection: String, field: String? = nil, _ message: String) {
        self.code = code
        self.collection = collection
        self.field = field
        self.message = message
    }

    /// The kind of error.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A name that is not made of lower-case letters, digits, and underscores.
        case invalidName
        /// A name that the database or live objects use themselves.
        case reservedName
        /// Two fields of one name.
        case duplicateField
        /// Two models of one collection.
        case duplicateCollection
        /// More fields than a model can have.
        case tooManyFields
        /// A reference to a model that is not in the list of models.
        case unknownTarget
        /// A model that is not in the list of models.
        case unknownModel
        /// A field that is not a stored property of its model, such as a computed or static one.
        case computedField
        /// A limit that is out of range, or a second rule of a field.
        case invalidLimit
        /// A value in a query that cannot be stored.
        case invalidValue
        /// A default that breaks the limits of its field.
        case invalidDefault
    }

    public var description: String { message }
}
