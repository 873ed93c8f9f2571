/// The limits of a page's server. Everyone on this machine can connect to its port.
package enum PageLimits {
    /// Maximum length of a header field, and of all header fields together, in bytes. Browsers send less than 2 KiB.
    static let headerBytes = 16 * 1_024
    /// Maximum number of header fields.
    static let headerFields = 64
    /// Maximum length of the body of a request, in bytes: twice `SchemaLimits.transactionBytes`, because JSON escapes
    /// make a transaction longer.
    package static let bodyBytes = 2 * 1_024 * 1_024
    /// The time in which a whole request must arrive. It comes from this machine.
    package static let requestDeadline = Duration.seconds(10)
    /// The time in which the browser must read a response.
    static let responseDeadline = Duration.seconds(10)
    /// The time that a client that is still sending a refused body has to read the response.
    static let refusalDelay = Duration.seconds(10)
    /// Maximum number of open connections. A browser opens six for one page.
    package static let connections = 64
    /// Maximum number of connections that wait to be accepted.
    static let backlog: Int32 = 64
    /// Maximum duration of a long poll. The page then calls again.
    package static let newsTimeout = Duration.seconds(20)
}
