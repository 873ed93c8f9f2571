/// An error in the configuration, which keeps a program from starting.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key, the source of its value, what is wrong, and what was expected. Contains no secret.
    public let message: String
    /// The remedy; nil if the message alone suffices.
    public let advice: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: the key, what is wrong with its value, and what was expected, without secrets.
    ///   - advice: the remedy, if the message alone does not say it.
    public init(_ message: String, advice: String? = nil) {
        self.message = message
        self.advice = advice
    }

    public var description: String { message }
}
