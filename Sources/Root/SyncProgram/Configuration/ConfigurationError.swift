/// An error in the configuration, which keeps a program from starting.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key, the source of its value, what is wrong, and what was expected. Contains no secret.
    public let message: String
    /// The remedy; nil if the message alone suffices.
    public let advice: String?
    /// Whether the cause may end without a change of the configuration, such as a database that does not run yet. It is
    /// then worth starting the program again.
    public let mayPass: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: the key, what is wrong with its value, and what was expected, without secrets.
    ///   - advice: the remedy, if the message alone does not say it.
    ///   - mayPass: whether the cause may end without a change of the configuration.
    public init(_ message: String, advice: String? = nil, mayPass: Bool = false) {
        self.message = message
        self.advice = advice
        self.mayPass = mayPass
    }

    public var description: String { message }
}
