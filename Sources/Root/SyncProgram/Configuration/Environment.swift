/// Where a program runs. It picks adapters and defaults, here and nowhere else: no other code asks which one it is.
public enum Environment: String, Hashable, Sendable, CaseIterable {
    /// People's data.
    case production
    /// A rehearsal of production, with its rules.
    case staging
    /// A developer's machine.
    case development
    /// Automatic tests with real adapters: nothing is found by habit, every folder has to be named.
    case test
    /// Virtual time and faults on demand; its adapters come from the test kit, as overrides.
    case simulation
}

extension Environment {
    /// All that an environment decides.
    package struct Choices: Hashable, Sendable {
        /// Whether a server that is not on this machine has to be reached over TLS.
        package let requiresTLS: Bool
        /// Whether folders that nobody named are looked for in the user's home.
        package let usesHomeFolders: Bool
        let logLevel: LogLevel
        /// Whether the adapters that are linked here serve it, or it needs to be given others.
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
