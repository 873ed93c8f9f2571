/// Why a program does not start: the configuration is not one that it can follow.
public struct ConfigurationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Names the key, where its value came from, what was wrong and what was expected. Holds no secret.
    public let message: String
    /// The remedy, when there is more to say than the message does.
    public let advice: String?

    public init(_ message: String, advice: String? = nil) {
        self.message = message
        self.advice = advice
    }

    public var description: String { message }
}
