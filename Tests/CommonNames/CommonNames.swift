// Names that an application, or another library that it imports, is likely to declare. If a product exported one of
// these names, every use of the name would be ambiguous.

public struct Account { public init() {} }
public struct Change { public init() {} }
public struct Clock { public init() {} }
public struct Configuration { public init() {} }
public struct Cursor { public init() {} }
public struct Environment { public init() {} }
public struct Epoch { public init() {} }
public struct Mutation { public init() {} }
public struct Outcome { public init() {} }
public struct Patch { public init() {} }
public struct Program { public init() {} }
public struct Record { public init() {} }
public struct Rejection { public init() {} }
public struct Setting { public init() {} }
public struct Stamp { public init() {} }
public struct Token { public init() {} }
public struct Transaction { public init() {} }
public struct Version { public init() {} }
