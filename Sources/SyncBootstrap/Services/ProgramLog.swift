public import Logging

/// The log of a program: lines on standard error. Libraries are given a logger and never make one.
public enum ProgramLog {
    public static func logger(label: String, level: LogLevel) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .warning
        return logger
    }
}
