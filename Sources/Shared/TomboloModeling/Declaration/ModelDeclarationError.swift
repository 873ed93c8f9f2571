/// An error in the declaration of a model. Thrown when a client or server opens, or when a query uses the field.
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
        /// A field that is not a stored property of its model.
        case computedField
        /// A limit that no value can meet, or that is larger than the system allows.
        case invalidLimit
        /// A default that breaks the limits of its field.
        case invalidDefault
    }

    public var description: String { message }
}
