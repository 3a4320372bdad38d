import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.Incompatibility;

/**
 * Reads a JSON list [reader, writer] of schema texts a line; answers a list of incompatibilities a line,
 * `"invalid"` if a text is no schema, or `"raised"` if the check raises.
 */
public class Resolution {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        ObjectMapper mapper = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] pair = mapper.readValue(line, String[].class);
            out.println(answer(mapper, pair[0], pair[1]));
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
    }

    private static String answer(ObjectMapper mapper, String reader, String writer) throws Exception {
        Schema read;
        Schema written;
        try {
            read = new Schema.Parser().parse(reader);
            written = new Schema.Parser().parse(writer);
        } catch (RuntimeException | StackOverflowError fault) {
            return "\"invalid\"";
        }
        ArrayNode found = mapper.createArrayNode();
        try {
            for (Incompatibility each : SchemaCompatibility.checkReaderWriterCompatibility(read, written)
                    .getResult().getIncompatibilities()) {
                ObjectNode node = found.addObject();
                node.put("kind", each.getType().name());
                node.put("location", each.getLocation());
                node.put("message", each.getMessage());
            }
        } catch (RuntimeException fault) {
            return "\"raised\"";
        }
        return mapper.writeValueAsString(found);
    }
}
