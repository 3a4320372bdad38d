import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;

/** Reads reader and writer schemas, a line each and in turn; answers `readable`, `unreadable` or `invalid`. */
public class Compat {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String reader = in.readLine(); reader != null; reader = in.readLine()) {
            System.out.println(verdict(reader, in.readLine()));
            System.out.flush();
        }
    }

    private static String verdict(String reader, String writer) {
        Schema read;
        Schema written;
        try {
            read = new Schema.Parser().parse(reader);
            written = new Schema.Parser().parse(writer);
        } catch (RuntimeException fault) {
            return "invalid";
        }
        SchemaCompatibilityType type = SchemaCompatibility.checkReaderWriterCompatibility(read, written).getType();
        return type == SchemaCompatibilityType.COMPATIBLE ? "readable" : "unreadable";
    }
}
