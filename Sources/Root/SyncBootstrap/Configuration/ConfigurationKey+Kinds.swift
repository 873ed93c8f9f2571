extension ConfigurationKey where Value == String {
    static func text(
        _ name: String, _ meaning: String, default defaultValue: DefaultValue = .none, isSecret: Bool = false,
        for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .text, defaultValue: defaultValue, isSecret: isSecret,
                programs: programs),
            convert: { $0 })
    }

    static func path(
        _ name: String, _ meaning: String, default defaultValue: DefaultValue = .none, for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .path, defaultValue: defaultValue, isSecret: false,
                programs: programs),
            convert: { $0 })
    }
}

extension ConfigurationKey where Value == ServerAddress {
    static func url(_ name: String, _ meaning: String, for programs: [Program]) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .url, defaultValue: .none, isSecret: false, programs: programs),
            convert: { ServerAddress($0) })
    }
}

extension ConfigurationKey where Value == Bool {
    static func boolean(
        _ name: String, _ meaning: String, default value: Bool, for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .boolean, defaultValue: .fixed("\(value)"), isSecret: false,
                programs: programs),
            convert: { Bool($0) })
    }
}

extension ConfigurationKey where Value == Int {
    static func integer(
        _ name: String, _ meaning: String, in range: ClosedRange<Int>, unit: String, default value: Int,
        for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .integer(range, unit: unit), defaultValue: .fixed("\(value)"),
                isSecret: false, programs: programs),
            convert: { Int($0) })
    }
}

extension ConfigurationKey where Value == Duration {
    static func duration(
        _ name: String, _ meaning: String, in range: ClosedRange<Duration>, default value: Duration,
        for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .duration(range),
                defaultValue: .fixed(DurationText(value).description), isSecret: false, programs: programs),
            convert: { DurationText(parsing: $0)?.duration })
    }
}

extension ConfigurationKey where Value: CaseIterable & RawRepresentable<String> {
    static func choice(
        _ name: String, _ meaning: String, default defaultValue: DefaultValue, for programs: [Program]
    ) -> ConfigurationKey {
        ConfigurationKey(
            about: KeyDescription(
                name: name, meaning: meaning, kind: .choice(Value.allCases.map(\.rawValue)),
                defaultValue: defaultValue, isSecret: false, programs: programs),
            convert: { Value(rawValue: $0) })
    }
}
