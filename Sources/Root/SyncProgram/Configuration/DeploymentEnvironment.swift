/// The environment in which a program runs.
///
/// The environment selects adapters and defaults through its `choices`. No other code compares it with a certain case.
public enum DeploymentEnvironment: String, Hashable, Sendable, CaseIterable {
    /// Real users' data.
    case production
    /// A rehearsal of production, with its rules.
    case staging
    /// A developer's machine.
    case development
    /// Automated tests with real adapters. There are no default folders: each one must be named.
    case test
    /// Virtual time and injected faults. Its adapters come from the test kit.
    case simulation
}

extension DeploymentEnvironment {
    /// The choices that an environment determines.
    package struct Choices: Hashable, Sendable {
        /// Whether a server on another machine must be reached over TLS.
        package let requiresTLS: Bool
        /// Whether default folders are in the user's home.
        package let usesHomeFolders: Bool
        let logLevel: LogLevel
        /// Whether this program's adapters serve the environment. Otherwise the caller must pass others.
        package let hasLiveAdapters: Bool
    }

    package var choices: Choices {
        switch self {
        case .production, .staging:
            Choices(requiresTLS: true, usesHomeFolders: true, logLevel: .warning, hasLiveAdapters: true)
        case .development:
            Choices(requiresTLS: false, usesHomeFolders: true, logLevel: .info, hasLiveAdapters: true)
        case .test:
            Choices(requiresTLS: false, usesHomeFolders: false, logLevel: .error, hasLiveAdapters: true)
        case .simulation:
            Choices(requiresTLS: false, usesHomeFolders: false, logLevel: .error, hasLiveAdapters: false)
        }
    }
}
