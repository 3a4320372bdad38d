import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.connect.json.JsonConverter;

import io.debezium.antlr.AntlrDdlParser;
import io.debezium.config.CommonConnectorConfig;
import io.debezium.config.Configuration;
import io.debezium.connector.binlog.charset.BinlogCharsetRegistry;
import io.debezium.connector.db2.Db2ConnectorConfig;
import io.debezium.connector.db2.Db2ValueConverters;
import io.debezium.connector.informix.InformixConnectorConfig;
import io.debezium.connector.informix.InformixValueConverters;
import io.debezium.connector.mariadb.MariaDbConnectorConfig;
import io.debezium.connector.mariadb.antlr.MariaDbAntlrDdlParser;
import io.debezium.connector.mariadb.charset.MariaDbCharsetRegistry;
import io.debezium.connector.mariadb.jdbc.MariaDbValueConverters;
import io.debezium.connector.mysql.MySqlConnectorConfig;
import io.debezium.connector.mysql.antlr.MySqlAntlrDdlParser;
import io.debezium.connector.mysql.charset.MySqlCharsetRegistry;
import io.debezium.connector.mysql.jdbc.MySqlValueConverters;
import io.debezium.connector.oracle.OracleConnection;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.OracleValueConverters;
import io.debezium.connector.oracle.antlr.OracleDdlParser;
import io.debezium.connector.postgresql.PostgresConnectorConfig;
import io.debezium.connector.postgresql.PostgresType;
import io.debezium.connector.postgresql.PostgresValueConverter;
import io.debezium.connector.postgresql.TypeRegistry;
import io.debezium.connector.sqlserver.SqlServerConnectorConfig;
import io.debezium.connector.sqlserver.SqlServerValueConverters;
import io.debezium.jdbc.JdbcValueConverters.BigIntUnsignedMode;
import io.debezium.relational.Column;
import io.debezium.relational.ColumnEditor;
import io.debezium.relational.CustomConverterRegistry;
import io.debezium.relational.RelationalDatabaseConnectorConfig;
import io.debezium.relational.Table;
import io.debezium.relational.TableId;
import io.debezium.relational.TableSchemaBuilder;
import io.debezium.relational.Tables;
import io.debezium.relational.ValueConverterProvider;
import io.debezium.relational.history.ConnectTableChangeSerializer;
import io.debezium.relational.history.TableChanges;
import io.debezium.relational.mapping.ColumnMappers;
import io.debezium.schema.DefaultTopicNamingStrategy;
import io.debezium.schema.SchemaNameAdjuster;
import io.debezium.service.spi.ServiceRegistry;

/**
 * Asks Debezium's own classes what a column becomes.
 *
 * In, on stdin, one JSON: {connector: {columns: [column], settings: [{option: value}]}}. A column is a type as SQL
 * writes it ({sql}, read by the connector's DDL parser), a type of pg_type ({type_name, modifier, …}), or the loose
 * parts that a JDBC driver gives ({type_name, jdbc_type, length, scale}).
 * Out, on stdout: {connector: {declared: [column of tableChanges | error], wire: [[field node | null]], required: …}},
 * a list of fields for each setting; `required` is such a list for the same columns, but NOT NULL, and no setting.
 */
public class Probe {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final TableId TABLE = new TableId("db", "s", "t");
    private static final JsonConverter CONVERTER = new JsonConverter();

    public static void main(String[] args) throws Exception {
        CONVERTER.configure(Map.of("schemas.enable", "false"), false);
        JsonNode asked = JSON.readTree(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        ObjectNode told = JSON.createObjectNode();
        for (Map.Entry<String, JsonNode> connector : asked.properties()) {
            told.set(connector.getKey(), answer(connector.getKey(), connector.getValue()));
        }
        System.out.write(JSON.writeValueAsBytes(told));
        System.out.flush();
    }

    private static ObjectNode answer(String connector, JsonNode asked) throws Exception {
        List<Column> columns = new ArrayList<>();
        ArrayNode declared = JSON.createArrayNode();
        for (JsonNode column : asked.get("columns")) {
            try {
                Column made = column(connector, column);
                if (made.typeName() == null) {
                    throw new IllegalArgumentException("a column without a type came of " + column);
                }
                declared.add(declared(made));
                columns.add(made);
            }
            catch (RuntimeException e) {
                columns.add(null);
                declared.add(String.valueOf(e));
            }
        }
        ArrayNode wire = JSON.createArrayNode();
        for (JsonNode setting : asked.get("settings")) {
            wire.add(fields(connector, setting, columns));
        }
        columns.replaceAll(column -> column == null ? null : column.edit().optional(false).create());
        ObjectNode told = JSON.createObjectNode();
        told.set("declared", declared);
        told.set("wire", wire);
        told.set("required", fields(connector, JSON.createObjectNode(), columns));
        return told;
    }

    private static ArrayNode fields(String connector, JsonNode setting, List<Column> columns) throws Exception {
        RelationalDatabaseConnectorConfig config = config(connector, setting);
        ValueConverterProvider converters = converters(connector, config, setting);
        ArrayNode fields = JSON.createArrayNode();
        for (Column column : columns) {
            fields.add(column == null ? JSON.nullNode() : field(config, converters, custom(setting), column));
        }
        return fields;
    }

    /** Converters that ship with the connectors and that users may switch on; here their option names a class. */
    @SuppressWarnings("unchecked")
    private static CustomConverterRegistry custom(JsonNode setting) throws Exception {
        if (!setting.has("converters")) {
            return new CustomConverterRegistry(List.of());
        }
        var converter = (io.debezium.spi.converter.CustomConverter<org.apache.kafka.connect.data.SchemaBuilder, io.debezium.spi.converter.ConvertedField>) Class
                .forName(setting.get("converters").asText()).getDeclaredConstructor().newInstance();
        converter.configure(new java.util.Properties());
        return new CustomConverterRegistry(List.of(converter));
    }

    private static JsonNode field(RelationalDatabaseConnectorConfig config, ValueConverterProvider converters,
                                  CustomConverterRegistry custom, Column column) {
        TableSchemaBuilder builder = new TableSchemaBuilder(converters, null, SchemaNameAdjuster.NO_OP,
                custom, org.apache.kafka.connect.data.SchemaBuilder.struct().build(),
                config.getFieldNamer(), false, CommonConnectorConfig.EventConvertingFailureHandlingMode.FAIL);
        var schema = builder.create(DefaultTopicNamingStrategy.create(config), table(column), null,
                ColumnMappers.create(config), null).valueSchema();
        JsonNode fields = CONVERTER.asJsonSchema(schema).get("fields");
        return fields.isEmpty() ? JSON.nullNode() : fields.get(0);
    }

    private static JsonNode declared(Column column) throws Exception {
        ConnectTableChangeSerializer serializer = new ConnectTableChangeSerializer(SchemaNameAdjuster.NO_OP);
        var change = serializer.serialize(new TableChanges().create(table(column))).get(0);
        byte[] printed = CONVERTER.fromConnectData("t", change.schema(), change);
        return JSON.readTree(printed).get("table").get("columns").get(0);
    }

    private static Table table(Column column) {
        return Table.editor().tableId(TABLE).addColumn(column).create();
    }

    private static RelationalDatabaseConnectorConfig config(String connector, JsonNode setting) {
        Configuration.Builder builder = Configuration.create()
                .with("topic.prefix", "srv").with("database.server.id", "1").with("database.dbname", "db")
                .with("database.names", "db").with("database.hostname", "nowhere").with("database.user", "u")
                .with("schema.history.internal", "io.debezium.relational.history.MemorySchemaHistory");
        setting.properties().stream().filter(e -> !e.getKey().equals("converters")).forEach(e -> builder.with(e.getKey(), e.getValue().asText()));
        Configuration config = builder.build();
        return switch (connector) {
            case "mysql" -> new MySqlConnectorConfig(config);
            case "mariadb" -> new MariaDbConnectorConfig(config);
            case "postgresql" -> new PostgresConnectorConfig(config);
            case "sqlserver" -> new SqlServerConnectorConfig(config);
            case "oracle" -> new OracleConnectorConfig(config);
            case "db2" -> new Db2ConnectorConfig(config);
            case "informix" -> new InformixConnectorConfig(config);
            default -> throw new IllegalArgumentException(connector);
        };
    }

    private static ValueConverterProvider converters(String connector, RelationalDatabaseConnectorConfig config, JsonNode setting)
            throws Exception {
        BigIntUnsignedMode unsigned = "precise".equals(setting.path("bigint.unsigned.handling.mode").asText())
                ? BigIntUnsignedMode.PRECISE
                : BigIntUnsignedMode.LONG;
        return switch (connector) {
            case "mysql" -> new MySqlValueConverters(config.getDecimalMode(), config.getTemporalPrecisionMode(), unsigned,
                    config.binaryHandlingMode(), day -> day, config.getEventConvertingFailureHandlingMode(),
                    services(new MySqlCharsetRegistry()));
            case "mariadb" -> new MariaDbValueConverters(config.getDecimalMode(), config.getTemporalPrecisionMode(), unsigned,
                    config.binaryHandlingMode(), day -> day, config.getEventConvertingFailureHandlingMode(),
                    services(new MariaDbCharsetRegistry()));
            case "postgresql" -> PostgresValueConverter.of((PostgresConnectorConfig) config, StandardCharsets.UTF_8, Postgres.registry());
            case "sqlserver" -> new SqlServerValueConverters(config.getDecimalMode(), config.getTemporalPrecisionMode(),
                    config.binaryHandlingMode());
            case "oracle" -> new OracleValueConverters((OracleConnectorConfig) config, without(OfflineOracle.class));
            case "db2" -> new Db2ValueConverters(config.getDecimalMode(), config.getTemporalPrecisionMode());
            case "informix" -> new InformixValueConverters(config.getDecimalMode(), config.getTemporalPrecisionMode(),
                    config.binaryHandlingMode());
            default -> throw new IllegalArgumentException(connector);
        };
    }

    private static Column column(String connector, JsonNode asked) throws Exception {
        if (asked.has("sql")) {
            return parsed(connector, asked.get("sql").asText());
        }
        if (connector.equals("postgresql")) {
            return Postgres.column(asked);
        }
        ColumnEditor editor = Column.editor().name("c").jdbcType(asked.get("jdbc_type").asInt());
        editor.type(asked.get("type_name").asText()).optional(true).position(1);
        if (asked.hasNonNull("length")) {
            editor.length(asked.get("length").asInt());
        }
        if (asked.hasNonNull("scale")) {
            editor.scale(asked.get("scale").asInt());
        }
        return editor.create();
    }

    private static Column parsed(String connector, String type) {
        AntlrDdlParser<?, ?> parser = switch (connector) {
            case "mysql" -> new MySqlAntlrDdlParser(true, false, true, Tables.TableFilter.includeAll(), new MySqlCharsetRegistry());
            case "mariadb" -> new MariaDbAntlrDdlParser(true, false, true, Tables.TableFilter.includeAll(), new MariaDbCharsetRegistry());
            case "oracle" -> new OracleDdlParser();
            default -> throw new IllegalArgumentException("no DDL parser: " + connector);
        };
        parser.setCurrentDatabase("db");
        parser.setCurrentSchema("s");
        Tables tables = new Tables();
        parser.parse("CREATE TABLE t (c " + type + ")", tables);
        for (TableId id : tables.tableIds()) {
            return tables.forTable(id).columns().get(0);
        }
        throw new IllegalArgumentException("no table came of " + type);
    }

    private static ServiceRegistry services(BinlogCharsetRegistry charsets) {
        return (ServiceRegistry) java.lang.reflect.Proxy.newProxyInstance(Probe.class.getClassLoader(),
                new Class<?>[]{ ServiceRegistry.class },
                (proxy, method, arguments) -> method.getName().equals("getService") ? charsets : null);
    }

    /** An object whose constructor would open a connection, without that constructor. */
    static <T> T without(Class<T> type) throws Exception {
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        return type.cast(((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(type));
    }

    static class OfflineOracle extends OracleConnection {
        OfflineOracle() {
            super((OracleConnectorConfig) null, false);
        }

        @Override
        public oracle.sql.CharacterSet getNationalCharacterSet() {
            return null;
        }
    }

    /** PostgreSQL's catalogue of types, from the driver's constants; what extensions and users add stands beside. */
    static class Postgres {
        private static TypeRegistry registry;
        private static final org.postgresql.core.TypeInfo DRIVER = driver();
        private static final int ADDED = 20000;

        static TypeRegistry registry() throws Exception {
            if (registry == null) {
                registry = without(TypeRegistry.class);
                set("nameToType", new HashMap<String, PostgresType>());
                set("oidToType", new HashMap<Integer, PostgresType>());
                for (Field field : TypeRegistry.class.getDeclaredFields()) {
                    if (field.getType() == int.class && !java.lang.reflect.Modifier.isStatic(field.getModifiers())) {
                        field.setAccessible(true);
                        field.set(registry, Integer.MIN_VALUE);
                    }
                }
                builtIn();
                added();
            }
            return registry;
        }

        static Column column(JsonNode asked) throws Exception {
            PostgresType type = registry().get(asked.get("type_name").asText());
            Constructor<?> constructor = Class.forName("io.debezium.connector.postgresql.connection.pgoutput.ColumnMetaData")
                    .getDeclaredConstructors()[0];
            constructor.setAccessible(true);
            Object read = constructor.newInstance("c", type, false, true, false, null, asked.path("modifier").asInt(-1));
            return Column.editor().name("c").optional(true).position(1)
                    .jdbcType(type.getRootType().getJdbcId()).nativeType(type.getRootType().getOid())
                    .type(type.getName(), (String) get(read, "getTypeName"))
                    .length((int) get(read, "getLength")).scale((int) get(read, "getScale")).create();
        }

        private static Object get(Object object, String method) throws Exception {
            Method found = object.getClass().getDeclaredMethod(method);
            found.setAccessible(true);
            return found.invoke(object);
        }

        private static void set(String name, Object value) throws Exception {
            Field field = TypeRegistry.class.getDeclaredField(name);
            field.setAccessible(true);
            field.set(registry, value);
        }

        private static void builtIn() throws Exception {
            Map<String, Integer> oids = new HashMap<>();
            for (Class<?> from : List.of(org.postgresql.core.Oid.class, io.debezium.connector.postgresql.PgOid.class)) {
                for (Field field : from.getDeclaredFields()) {
                    if (field.getType() == int.class) {
                        field.setAccessible(true);
                        oids.put(name(field.getName().toLowerCase()), (int) field.get(null));
                    }
                }
            }
            for (String name : oids.keySet()) {
                if (!name.startsWith("_")) {
                    add(name, oids.get(name), jdbc(name), 0, 0, null);
                }
            }
            for (String name : oids.keySet()) {
                Integer element = name.startsWith("_") ? oids.get(name.substring(1)) : null;
                if (element != null) {
                    add(name, oids.get(name), Types.ARRAY, element, 0, null);
                }
            }
        }

        private static String name(String constant) {
            String name = constant.endsWith("_oid") ? constant.substring(0, constant.length() - 4) : constant;
            name = name.endsWith("_array") ? "_" + name.substring(0, name.length() - 6) : name;
            return name.replace("num_range", "numrange").replace("ref_cursor", "refcursor");
        }

        /** As org.postgresql.jdbc.PgConnection prepares it for a server of today. */
        private static org.postgresql.core.TypeInfo driver() {
            var driver = new org.postgresql.jdbc.TypeInfoCache(null, Integer.MAX_VALUE);
            driver.addCoreType("uuid", org.postgresql.core.Oid.UUID, Types.OTHER, "java.util.UUID", org.postgresql.core.Oid.UUID_ARRAY);
            driver.addCoreType("xml", org.postgresql.core.Oid.XML, Types.SQLXML, "java.sql.SQLXML", org.postgresql.core.Oid.XML_ARRAY);
            return driver;
        }

        private static int jdbc(String name) {
            try {
                return DRIVER.getSQLType(name);
            }
            catch (Exception unknownWithoutAServer) {
                return Types.OTHER;
            }
        }

        private static void added() throws Exception {
            int oid = ADDED;
            for (String name : List.of("geometry", "geography", "citext", "hstore", "ltree", "isbn", "vector", "halfvec",
                    "sparsevec", "lquery", "pg_snapshot", "lseg", "path", "polygon", "circle", "line")) {
                add(name, ++oid, Types.OTHER, 0, 0, null);
                add("_" + name, oid + 100, Types.ARRAY, oid, 0, null);
            }
            add("mood", ++oid, Types.VARCHAR, 0, 0, List.of("sad", "ok"));
            add("_mood", oid + 100, Types.ARRAY, oid, 0, null);
            add("address", ++oid, Types.STRUCT, 0, 0, null);
            add("price", ++oid, Types.DISTINCT, 0, registry.get("numeric").getOid(), null, ((10 << 16) | 2) + 4);
            add("age", ++oid, Types.DISTINCT, 0, registry.get("int4").getOid(), null);
        }

        private static void add(String name, int oid, int jdbc, int element, int parent, List<String> labels) throws Exception {
            add(name, oid, jdbc, element, parent, labels, -1);
        }

        private static void add(String name, int oid, int jdbc, int element, int parent, List<String> labels, int modifiers)
                throws Exception {
            PostgresType.Builder builder = new PostgresType.Builder(registry, name, oid, jdbc, modifiers, DRIVER);
            if (labels != null) {
                builder.enumValues(labels);
            }
            Method add = TypeRegistry.class.getDeclaredMethod("addType", PostgresType.class);
            add.setAccessible(true);
            add.invoke(registry, builder.elementType(element).parentType(parent).build());
        }
    }
}
