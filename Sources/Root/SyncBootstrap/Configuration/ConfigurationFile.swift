package import Configuration
package import Foundation
import SyncJSON

/// A configuration file: JSON with one nested object per dot of a key.
///
/// The file is not read with a `FileProvider`, which accepts `true` for 1, uses the last of two equal keys, and ignores
/// unknown names.
public struct ConfigurationFile: Sendable {
    public let path: String
    /// The values by dotted key name.
    package let values: [String: ConfigValue]

    /// The environment variable that names the file if no flag does.
    public static let variable = KeyDescription.variablePrefix + "_CONFIG"

    /// Reads the file named by a flag or the environment variable, or else the one at the usual path if it exists.
    ///
    /// - Throws: when a named file is missing, or a file is invalid.
    public static func find(
        named flag: String?, variables: [String: String]
    ) throws(ConfigurationProblem) -> ConfigurationFile? {
        if let flag { return try ConfigurationFile(path: flag) }
        if let named = variables[variable], !named.isEmpty { return try ConfigurationFile(path: named) }
        guard let usual = usualPath(variables), FileManager.default.fileExists(atPath: usual) else { return nil }
        return try ConfigurationFile(path: usual)
    }

    /// Returns `$XDG_CONFIG_HOME/tombolo/config.json`, or else the path below `~/.config`; nil without a home folder.
    public static func usualPath(_ variables: [String: String]) -> String? {
        if let folder = variables["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder + "/tombolo/config.json" }
        return variables["HOME"].map { $0 + "/.config/tombolo/config.json" }
    }

    public init(path: String) throws(ConfigurationProblem) {
        let data: Data
        switch RegularFile.open(path) {
        case .refused(let reason):
            throw ConfigurationProblem("the configuration file \(path) was not read: \(reason)")
        case .open(let descriptor):
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            do {
                data = try handle.read(upToCount: Self.largestSize + 1) ?? Data()
            } catch {
                throw ConfigurationProblem("the configuration file \(path) was not read: it cannot be read")
            }
        }
        guard data.count <= Self.largestSize else {
            throw ConfigurationProblem("the configuration file \(path) is larger than \(Self.largestSize) bytes")
        }
        try self.init(path: path, text: data)
    }

    package init(path: String, text: Data) throws(ConfigurationProblem) {
        self.path = path
        let tree: JSONValue
        do throws(JSONError) {
            tree = try JSONValue(Array(text))
        } catch {
            throw ConfigurationProblem("the configuration file \(path) is not JSON: \(error)")
        }
        guard case .object(let members) = tree else {
            throw ConfigurationProblem("the configuration file \(path) is not a JSON object")
        }
        var values: [String: ConfigValue] = [:]
        try Self.flatten(members, below: "", into: &values, path: path)
        self.values = values
    }

    /// Maximum size of a configuration file, in bytes. A larger one is a mistake.
    private static let largestSize = 1_048_576

    private static func flatten(
        _ members: [JSONValue.Member], below prefix: String, into values: inout [String: ConfigValue], path: String
    ) throws(ConfigurationProblem) {
        for member in members {
            let key = prefix + member.key
            let content: ConfigContent
            switch member.value {
            case .object(let inner):
                try flatten(inner, below: key + ".", into: &values, path: path)
                continue
            // Editors use this key to find the schema.
            case .string where key == "$schema": continue
            case .string(let text): content = .string(text)
            case .integer(let number): content = .int(Int(number))
            case .boolean(let bool): content = .bool(bool)
            case .null, .real, .array:
                throw ConfigurationProblem("\(key) in \(path) is null, a list or no whole number: no key takes that")
            }
            // The same key can be written nested and with a dot.
            guard values.updateValue(ConfigValue(content, isSecret: false), forKey: key) == nil else {
                throw ConfigurationProblem("\(key) occurs twice in \(path)")
            }
        }
    }
}
